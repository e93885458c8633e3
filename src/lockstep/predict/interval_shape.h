#pragma once

#include <array>

#include "lockstep/predict/estimate.h"

namespace lockstep::predict {

/// Levels of central intervals: 10 %, 20 %, ..., 90 %.
inline constexpr int kLevels = 9;

/// How far the central interval of each level reaches, as a part of how far that of 90 % reaches;
/// on a logarithmic scale, the same below and above the value. Ascending; the last is 1.
using IntervalShape = std::array<double, kLevels>;

/// Of a normal distribution.
inline constexpr IntervalShape kNormalShape{0.0764, 0.1540, 0.2342, 0.3188, 0.4100,
                                            0.5116, 0.6300, 0.7791, 1.0};

/// The part at a level between 0 and 0.9.
double part_at(const IntervalShape& shape, double level);
/// The level whose interval reaches this part; above 0.9 that of a normal tail.
double level_at(const IntervalShape& shape, double part);

/// The interval of another level, `part` of the one of 90 %.
Estimate narrowed(const Estimate& x, double part);

}  // namespace lockstep::predict
