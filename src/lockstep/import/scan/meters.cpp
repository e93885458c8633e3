#include "lockstep/import/scan/meters.h"

#include <array>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

enum CharClass : unsigned char { kOther, kInName, kLetter };

/// Of each byte, so that a line of many meters is one look-up a letter.
constexpr std::array<CharClass, 256> kClasses = [] {
  std::array<CharClass, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const char letter = static_cast<char>(c);
    if (is_letter(letter)) {
      classes[static_cast<std::size_t>(c)] = kLetter;
    } else if (is_digit(letter) || letter == '@' || letter == '/' || letter == '_') {
      classes[static_cast<std::size_t>(c)] = kInName;
    }
  }
  return classes;
}();

CharClass class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}

}  // namespace

bool take_meter(std::string_view& text, Meter& meter) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (;;) {
    while (at != end && class_of(*at) != kLetter) ++at;
    const char* name = at;
    while (at != end && class_of(*at) != kOther) ++at;
    if (at == name) break;
    meter.name = std::string_view(name, static_cast<std::size_t>(at - name));
    const char* value = at != end && *at == ':' ? at + 1 : at;
    if (value == end || (*value != ' ' && *value != '\t')) continue;
    const char* stop = past_number(value, end, meter.value);
    if (stop == nullptr) continue;
    at = stop;
    meter.mean = meter.value;
    while (at != end && (*at == ' ' || *at == 's')) ++at;
    if (at != end && *at == '(') {
      stop = past_number(at + 1, end, meter.mean);
      if (stop == nullptr) meter.mean = meter.value;
      at = stop == nullptr ? at : stop;
    }
    text = std::string_view(at, static_cast<std::size_t>(end - at));
    return true;
  }
  text = {};
  return false;
}

}  // namespace lockstep::import
