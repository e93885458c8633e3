#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// `text` without the blanks at its ends: spaces, tabs, line breaks and form feeds.
std::string_view trim(std::string_view text);

/// One character of UTF-8 text.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = true;  ///< false for a byte that is not UTF-8; `value` is then that byte
};

/// The character that begins at byte `at`.
CodePoint decode_utf8(std::string_view text, std::size_t at);

/// One line that is safe to print, of about `longest` bytes at most: control characters become
/// spaces, bytes that are not UTF-8 become U+FFFD, so that text from elsewhere cannot steer a
/// terminal or break JSON.
std::string printable(std::string_view text, std::size_t longest = std::string_view::npos);

/// `text` as the content of an HTML element or of a quoted attribute.
std::string html_escaped(std::string_view text);

}  // namespace lockstep
