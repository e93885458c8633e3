#include "lockstep/base/text/csv.h"

namespace lockstep {

bool CsvQuotes::open_after(std::string_view line) {
  // A line break inside quotes is part of the field; elsewhere the record has ended.
  if (place_ != Place::kQuoted) place_ = Place::kFieldStart;
  for (const char c : line) {
    switch (place_) {
      case Place::kQuoted:
        if (c == '"') place_ = Place::kAfterQuote;
        break;
      case Place::kFieldStart:
        if (c == '"') {
          place_ = Place::kQuoted;
        } else if (c != ' ' && c != delimiter_) {
          place_ = Place::kPlain;
        }
        break;
      case Place::kAfterQuote:
        place_ = c == '"' ? Place::kQuoted : c == delimiter_ ? Place::kFieldStart : Place::kPlain;
        break;
      case Place::kPlain:
        if (c == delimiter_) place_ = Place::kFieldStart;
        break;
    }
  }
  return place_ == Place::kQuoted;
}

void split_csv(std::string& record, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  char* write = record.data();
  const char* read = record.data();
  const char* end = read + record.size();
  for (;;) {
    char* begin = write;
    const char* quote = read;
    while (quote != end && *quote == ' ') ++quote;
    if (quote != end && *quote == '"') {
      for (read = quote + 1; read != end; ++read) {
        if (*read != '"') {
          *write++ = *read;
        } else if (read + 1 != end && read[1] == '"') {
          *write++ = *read++;
        } else {
          ++read;
          break;
        }
      }
    }
    while (read != end && *read != delimiter) *write++ = *read++;
    fields.emplace_back(begin, static_cast<std::size_t>(write - begin));
    if (read == end) break;
    ++read;
    ++write;  // never past `read`: the delimiter itself was read
  }
}

bool read_csv_record(std::istream& in, std::vector<std::string>& fields, std::size_t& lines) {
  std::string record;
  if (!std::getline(in, record)) return false;
  ++lines;
  CsvQuotes quotes(',');
  bool open = quotes.open_after(record);
  for (std::string line; open && std::getline(in, line); ++lines) {
    open = quotes.open_after(line);
    record.append(1, '\n').append(line);
  }
  if (!open && record.ends_with('\r')) record.pop_back();
  std::vector<std::string_view> views;
  split_csv(record, ',', views);
  fields.assign(views.begin(), views.end());
  return true;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace lockstep
