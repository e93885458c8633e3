#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "lockstep/base/clock.h"

namespace lockstep {

/// Results on one stream, diagnostics on another, and on a terminal one status line below both that
/// is erased before anything else is printed. Each line is written when a call returns. A reader
/// that has exited does not affect the caller.
class Console {
 public:
  /// The usual streams; a status line only where stderr is a terminal that can erase one.
  explicit Console(const Clock& clock);
  Console(std::FILE* out, std::FILE* err, bool terminal, const Clock& clock);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Whether a status line can be shown.
  bool terminal() const { return terminal_; }

  /// Text that ends with a line break or gets one.
  void out(std::string_view text);
  void err(std::string_view text);

  /// Redraws the line, at most ten times per second and no wider than the terminal; nothing
  /// happens without a terminal.
  void set_status(const std::string& text);
  void clear_status();

 private:
  void print(std::FILE* stream, std::string_view text);

  std::FILE* out_;
  std::FILE* err_;
  bool terminal_;
  const Clock& clock_;
  bool status_shown_ = false;
  Nanoseconds drawn_at_ = 0;
};

}  // namespace lockstep
