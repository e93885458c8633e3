#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::report {

/// Columns that UTF-8 text takes on a terminal: 0 for combining marks, 2 for East Asian wide
/// characters and emoji, 1 for a byte that is not UTF-8. Independent of the locale.
std::size_t display_width(std::string_view text);

/// Breaks at spaces into lines of at most `width` columns; longer words are cut. Never empty.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Appends `first` and `text` to `out`, wrapped to `width` columns with the lines after the first
/// indented as far as `first` reaches. In one line if `width` is 0 or leaves too little room.
void append_wrapped(std::string& out, const std::string& first, const std::string& text,
                    std::size_t width);

}  // namespace lockstep::report
