#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace lockstep {

/// Sends spdlog's default logger to stderr with `prefix` ("" or "[rank 3/8]") before each line.
/// Call once, at the start of a program; results never go through the log.
void set_up_log(const std::string& prefix, bool verbose);

}  // namespace lockstep
