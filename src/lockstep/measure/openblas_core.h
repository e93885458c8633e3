#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::measure {

/// The OPENBLAS_CORETYPE that fits a CPU. OpenBLAS chooses by model number and falls back to
/// kernels without vector units on unknown models; the flags of the CPU show what it really has.
/// Empty when they show nothing better than the fallback.
std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags);

}  // namespace lockstep::measure
