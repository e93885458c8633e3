#include "lockstep/base/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace lockstep {

std::size_t terminal_width() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool can_ask() {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
}

}  // namespace lockstep
