#pragma once

#include <string>

namespace lockstep {

/// Diagnostics go to stderr with `prefix` ("" or "[rank 3/8]") before each line. Call once, at the
/// start of a program; results never go through the log. spdlog stays behind this header: the
/// LibTorch of a pip install brings an fmt of its own, with which spdlog's headers do not compile.
void set_up_log(const std::string& prefix, bool verbose);

void log_info(const std::string& text);
void log_warning(const std::string& text);

}  // namespace lockstep
