#pragma once

#include <string>

namespace lockstep {

/// Diagnostics go to stderr with `prefix` ("" or "[rank 3/8]") before each line. Call once, at the
/// start of a program, before it has threads; results never go through the log.
void set_up_log(const std::string& prefix);

/// One line each, written at once: lines of several threads do not mix. Any thread.
void log_info(const std::string& text);
void log_warning(const std::string& text);

}  // namespace lockstep
