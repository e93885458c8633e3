#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::measure {

/// The OPENBLAS_CORETYPE that fits a CPU. OpenBLAS chooses by model number and falls back to
/// kernels without vector units on models it does not know; the flags tell what the CPU really has.
/// Empty when they tell of nothing better than the fall-back.
std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags);

}  // namespace lockstep::measure
