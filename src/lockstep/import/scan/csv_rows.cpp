#include "lockstep/import/scan/csv_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "lockstep/base/text/csv.h"
#include "lockstep/import/scan/plain_number.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// Without quotes the fields are pieces of the line itself.
void split_plain(std::string_view line, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  const char* begin = line.data();
  const char* end = begin + line.size();
  for (const char* at = begin;; ++at) {
    if (at != end && *at != delimiter) continue;
    const std::string_view field(begin, static_cast<std::size_t>(at - begin));
    const bool blanks = !field.empty() && (field.front() <= ' ' || field.back() <= ' ');
    fields.push_back(blanks ? trim(field) : field);
    if (at == end) return;
    begin = at + 1;
  }
}

void trim_all(std::vector<std::string_view>& fields) {
  for (std::string_view& field : fields) field = trim(field);
}

/// Where commas do not separate fields they are the decimal point, as spreadsheets of many
/// locales write it: "0,91".
std::optional<double> number_of(std::string_view field, char delimiter) {
  if (delimiter != ',' && std::count(field.begin(), field.end(), ',') == 1) {
    std::string pointed(field);
    std::replace(pointed.begin(), pointed.end(), ',', '.');
    return parse_number(pointed);
  }
  return parse_number(field);
}

}  // namespace

bool CsvRows::next(std::vector<std::string_view>& fields) {
  Line line;
  return lines_.next(line) && fields_of(line, fields);
}

bool CsvRows::fields_of(Line& line, std::vector<std::string_view>& fields) {
  if (std::memchr(line.text.data(), '"', line.text.size()) == nullptr) {
    split_plain(line.text, delimiter_, fields);
    return true;
  }
  record_ = line.text;
  CsvQuotes quotes(delimiter_);
  while (quotes.open_after(line.text) && record_.size() < LineSource::kLongestLine &&
         lines_.next(line)) {
    record_ += '\n';
    record_ += line.text;
  }
  split_csv(record_, delimiter_, fields);
  trim_all(fields);
  return true;
}

bool CsvRows::next_numbers(std::vector<double>& values) {
  Line line;
  if (!lines_.next(line)) return false;
  values.clear();
  const char* end = line.text.data() + line.text.size();
  for (const char* at = line.text.data();; ++at) {
    double value = kNothing;
    if (at != end && *at != delimiter_) {
      at = plain_number(at, end, value);
      // Anything but bare numbers: the slow way, for the whole record.
      if (at == nullptr || (at != end && *at != delimiter_)) break;
    }
    values.push_back(value);
    if (at == end) return true;
  }
  fields_of(line, fields_);
  values.clear();
  for (const std::string_view field : fields_)
    values.push_back(number_of(field, delimiter_).value_or(kNothing));
  return true;
}

bool CsvRows::next(std::vector<std::string_view>& fields, std::vector<double>& values) {
  if (!next(fields)) return false;
  values.clear();
  for (const std::string_view field : fields)
    values.push_back(number_of(field, delimiter_).value_or(kNothing));
  return true;
}

char csv_delimiter(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  char best = ',';
  for (const char candidate : {';', '\t'}) {
    if (std::count(line.begin(), line.end(), candidate) >
        std::count(line.begin(), line.end(), best)) {
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> csv_header(std::string_view text, char delimiter) {
  std::string line(trim(text.substr(0, text.find('\n'))));
  if (line.size() > 1024 * 1024) return {};
  std::vector<std::string_view> fields;
  split_csv(line, delimiter, fields);
  trim_all(fields);
  return {fields.begin(), fields.end()};
}

}  // namespace lockstep::import
