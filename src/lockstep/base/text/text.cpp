#include "lockstep/base/text/text.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

bool is_control(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0);
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {first, 1, false};
  std::uint32_t value = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {first, 1, false};
    value = value << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || surrogate || value > 0x10FFFF) return {first, 1, false};
  return {value, length, true};
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string safe;
  safe.reserve(std::min(text.size(), longest));
  for (std::size_t at = 0; at < text.size() && safe.size() < longest;) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid) {
      safe += "\xEF\xBF\xBD";
    } else if (is_control(point.value)) {
      safe += ' ';
    } else {
      safe.append(text.substr(at, point.bytes));
    }
    at += point.bytes;
  }
  return safe;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

}  // namespace lockstep
