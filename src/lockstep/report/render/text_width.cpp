#include "lockstep/report/render/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "lockstep/base/text/text.h"

namespace lockstep::report {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, std::uint32_t value) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return value >= range.first && value <= range.last;
  });
}

/// Blocks of Unicode's East Asian Width W and F, and of combining marks, that occur in practice.
constexpr std::array<Range, 11> kWide{{{0x1100, 0x115F},
                                       {0x2E80, 0x303E},
                                       {0x3041, 0xA4CF},
                                       {0xA960, 0xA97F},
                                       {0xAC00, 0xD7A3},
                                       {0xF900, 0xFAFF},
                                       {0xFE30, 0xFE6F},
                                       {0xFF00, 0xFF60},
                                       {0xFFE0, 0xFFE6},
                                       {0x1F300, 0x1FAFF},
                                       {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 9> kZero{{{0x0300, 0x036F},
                                      {0x0483, 0x0489},
                                      {0x0591, 0x05BD},
                                      {0x064B, 0x065F},
                                      {0x1AB0, 0x1AFF},
                                      {0x1DC0, 0x1DFF},
                                      {0x200B, 0x200F},
                                      {0x20D0, 0x20FF},
                                      {0xFE00, 0xFE0F}}};

std::size_t width_of(const CodePoint& point) {
  if (!point.valid) return 1;
  if (within(kZero, point.value)) return 0;
  return within(kWide, point.value) ? 2 : 1;
}

/// Bytes of the longest start of `text` that fits in `width` columns; at least one character.
std::size_t fitting_prefix(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = decode_utf8(text, at);
    used += width_of(point);
    if (used > width && at > 0) break;
    at += point.bytes;
  }
  return at;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    width += width_of(point);
    at += point.bytes;
  }
  return width;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto next_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    std::string_view word = text.substr(at, text.find(' ', at) - at);
    at += word.size();
    if (used > 0 && used + 1 + display_width(word) > width) next_line();
    if (used > 0) {
      lines.back() += ' ';
      ++used;
    }
    while (display_width(word) > width) {
      const std::size_t bytes = fitting_prefix(word, width);
      lines.back().append(word.substr(0, bytes));
      word.remove_prefix(bytes);
      if (!word.empty()) next_line();
    }
    lines.back().append(word);
    used += display_width(word);
  }
  return lines;
}

void append_wrapped(std::string& out, const std::string& first, const std::string& text,
                    std::size_t width) {
  const std::string indent(display_width(first), ' ');
  const std::size_t room = width > indent.size() + 20 ? width - indent.size() : 0;
  const auto lines = room == 0 ? std::vector{text} : wrap(text, room);
  for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? first : indent) + lines[i] + "\n";
}

}  // namespace lockstep::report
