#include "lockstep/predict/interval_shape.h"

#include <algorithm>
#include <cmath>

#include "lockstep/predict/odds.h"

namespace lockstep::predict {

double part_at(const IntervalShape& shape, double level) {
  const double at = std::clamp(level, 0.0, 0.9) * 10;
  const auto upper = static_cast<std::size_t>(std::ceil(at - 1e-9));
  if (upper == 0) return 0;
  const double below = upper == 1 ? 0 : shape[upper - 2];
  return below + (at - static_cast<double>(upper - 1)) * (shape[upper - 1] - below);
}

double level_at(const IntervalShape& shape, double part) {
  if (part > 1) return std::max(0.9, central_probability(part, 1));
  double below = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (part <= shape[i]) {
      const double inside = shape[i] > below ? (part - below) / (shape[i] - below) : 1;
      return 0.1 * (static_cast<double>(i) + inside);
    }
    below = shape[i];
  }
  return 0.9;
}

Estimate narrowed(const Estimate& x, double part) {
  if (!(x.low > 0)) {
    return {x.value, x.value - part * (x.value - x.low), x.value + part * (x.high - x.value)};
  }
  return {x.value, x.value * std::pow(x.low / x.value, part),
          x.value * std::pow(x.high / x.value, part)};
}

}  // namespace lockstep::predict
