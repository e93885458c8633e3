#include "lockstep/import/meters.h"

#include "lockstep/import/text_scan.h"

namespace lockstep::import {
namespace {

bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '@' || c == '/' || c == '_';
}

}  // namespace

std::optional<Meter> take_meter(std::string_view& text) {
  while (!text.empty()) {
    std::size_t begin = 0;
    while (begin < text.size() && !is_letter(text[begin])) ++begin;
    std::size_t end = begin;
    while (end < text.size() && is_name_char(text[end])) ++end;
    if (begin == end) break;
    Meter meter;
    meter.name = text.substr(begin, end - begin);
    text.remove_prefix(end);
    std::string_view rest = text;
    if (!rest.empty() && rest[0] == ':') rest.remove_prefix(1);
    if (rest.empty() || (rest[0] != ' ' && rest[0] != '\t')) continue;
    const auto value = take_number(rest);
    if (!value) continue;
    meter.value = *value;
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == 's')) rest.remove_prefix(1);
    if (!rest.empty() && rest[0] == '(') {
      std::string_view inside = rest.substr(1);
      if (const auto mean = take_number(inside)) {
        meter.mean = *mean;
        rest = inside;
      }
    }
    text = rest;
    return meter;
  }
  text = {};
  return std::nullopt;
}

}  // namespace lockstep::import
