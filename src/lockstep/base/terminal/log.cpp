#include "lockstep/base/terminal/log.h"

#include <unistd.h>

#include <cstdio>

namespace lockstep {
namespace {

std::string& log_prefix() {
  static std::string prefix;
  return prefix;
}

void write_log_line(const char* level, const char* colour, const std::string& text) {
  const bool coloured = ::isatty(STDERR_FILENO) == 1;
  std::string line = log_prefix();
  if (coloured) line += colour;
  line += level;
  if (coloured) line += "\033[m";
  line += ": " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void set_up_log(const std::string& prefix) {
  log_prefix() = prefix.empty() ? "" : prefix + " ";
}

void log_info(const std::string& text) {
  write_log_line("info", "\033[32m", text);
}

void log_warning(const std::string& text) {
  write_log_line("warning", "\033[33m", text);
}

}  // namespace lockstep
