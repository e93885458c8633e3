#include "lockstep/import/scan/decimal_comma.h"

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr int kEnough = 3;

bool digit_at(std::string_view text, std::size_t i) {
  return i < text.size() && is_digit(text[i]);
}

/// Where the digits around `i`, which are next to it, begin and end.
struct Span {
  std::size_t begin;
  std::size_t end;
};

Span digits_around(std::string_view text, std::size_t i) {
  Span span{i, i + 1};
  while (span.begin > 0 && is_digit(text[span.begin - 1])) --span.begin;
  while (digit_at(text, span.end)) ++span.end;
  return span;
}

bool is_decimal(std::string_view text, std::size_t comma, const Span& span) {
  const char before = span.begin > 0 ? text[span.begin - 1] : ' ';
  const char after = span.end < text.size() ? text[span.end] : ' ';
  if (before == ',' || before == ':' || before == '[' || before == '(') return false;
  if (after == ',' || after == ']' || after == ')') return false;
  // "1,234" is a thousand; "0,234" and "12,5" are not.
  return span.end - comma - 1 != 3 || (text[span.begin] == '0' && comma - span.begin == 1);
}

}  // namespace

bool writes_decimal_commas(std::string_view sample) {
  int commas = 0;
  for (std::size_t i = sample.find_first_of(",.", 1); i != std::string_view::npos;
       i = sample.find_first_of(",.", i + 1)) {
    if (!is_digit(sample[i - 1]) || !digit_at(sample, i + 1)) continue;
    const Span span = digits_around(sample, i);
    if (sample[i] == ',') {
      commas += is_decimal(sample, i, span);
    } else if (span.end < sample.size() && sample[span.end] != '.' &&
               (span.begin == 0 || sample[span.begin - 1] != '.')) {
      return false;  // "2.8.4" is a version, "2.8" a number
    }
  }
  return commas >= kEnough;
}

std::string_view with_decimal_points(std::string_view text, std::string& buffer) {
  buffer = text;
  for (std::size_t i = 1; i + 1 < buffer.size(); ++i) {
    if (buffer[i] == ',' && is_digit(buffer[i - 1]) && is_digit(buffer[i + 1])) buffer[i] = '.';
  }
  return buffer;
}

}  // namespace lockstep::import
