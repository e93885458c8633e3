#pragma once

#include <cstddef>

namespace lockstep::train {

/// The sum of x[i]^2. Added up in a fixed order, sixteen floats side by side and 1024 at a time in
/// double: the relative error stays below 1e-5 at any length, and every rank gets the same bits.
double sum_of_squares(const float* values, std::size_t count);

}  // namespace lockstep::train
