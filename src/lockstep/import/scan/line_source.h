#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/scan/input.h"

namespace lockstep::import {

/// One line of a log without its line break, colour codes and control bytes.
struct Line {
  std::string_view text;     ///< valid until the next line is asked for
  std::uint64_t number = 0;  ///< from 1, counting line feeds
};

/// Cuts an input into lines, in fixed memory. What a terminal would have overwritten comes as lines
/// of its own: a carriage return and a run of backspaces end a line as a line feed does, but do not
/// count; so does a zero byte, so that what is around a hole in the file does not become one line.
/// Empty lines are skipped. Lines beyond `kLongestLine` are cut.
class LineSource {
 public:
  static constexpr std::size_t kLongestLine = 8 * 1024 * 1024;

  explicit LineSource(Input& input);

  /// False at the end.
  bool next(Line& line);

  /// Number of the line that was given last.
  std::uint64_t number() const { return number_; }
  /// Line of the first zero byte in the text, 0 when there was none: the log contains binary data.
  std::uint64_t binary_line() const { return binary_line_; }
  /// Line that was too long to be kept whole, 0 when there was none.
  std::uint64_t cut_line() const { return cut_line_; }

 private:
  bool next_raw(std::string_view& raw);
  bool refill();
  bool next_segment(std::string_view& segment);
  std::string_view clean(std::string_view text);

  Input& input_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t searched_ = 0;
  bool overwritten_ = false;  ///< the buffer has carriage returns, backspaces or zeros
  bool marked_ = false;       ///< the buffer has escapes
  bool ended_ = false;
  bool cutting_ = false;
  std::string_view rest_;  ///< of a physical line that contains several
  std::string cleaned_;
  std::uint64_t number_ = 0;
  std::uint64_t binary_line_ = 0;
  std::uint64_t cut_line_ = 0;
};

/// `text` without terminal control sequences and zero bytes.
std::string without_escapes(std::string_view text);

}  // namespace lockstep::import
