#include "lockstep/base/statistics.h"

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"

namespace lockstep {

double quantile(std::span<const double> values, double fraction) {
  if (values.empty()) throw Error(ErrorKind::kInternal, "quantile of an empty sample");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

Summary summarize(std::span<const double> values) {
  Summary summary;
  summary.count = values.size();
  if (values.empty()) return summary;
  const auto n = static_cast<double>(values.size());
  for (double value : values) summary.mean += value / n;
  double squares = 0;
  for (double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (values.size() > 1) summary.deviation = std::sqrt(squares / (n - 1));
  summary.median = median(values);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  summary.minimum = *low;
  summary.maximum = *high;
  return summary;
}

}  // namespace lockstep
