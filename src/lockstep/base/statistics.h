#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// Location and spread of a sample. `deviation` is the sample standard deviation (n - 1), 0 for one
/// value. All zero when `count` is 0.
struct Summary {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;
  double median = 0;
  double minimum = 0;
  double maximum = 0;
};

Summary summarize(std::span<const double> values);

/// Linear interpolation between order statistics (R's type 7); `fraction` in [0, 1]. The sample
/// must not be empty.
double quantile(std::span<const double> values, double fraction);

double median(std::span<const double> values);

}  // namespace lockstep
