#include "lockstep/predict/odds.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep::predict {
namespace {

/// z of a one-sided 90 % interval.
constexpr double kOneSided = 1.2816;
constexpr double kSmallest = 1e-9;

}  // namespace

double log_deviation(const Estimate& x) {
  return std::log(x.high / x.low) / (2 * kNormal90);
}

Estimate product(const Estimate& a, const Estimate& b) {
  const double value = a.value * b.value;
  const double low = std::hypot(std::log(a.value / a.low), std::log(b.value / b.low));
  const double high = std::hypot(std::log(a.high / a.value), std::log(b.high / b.value));
  return {value, value * std::exp(-low), value * std::exp(high)};
}

double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

double central_probability(double size, double half) {
  return 2 * normal_below(kNormal90 * size / std::max(half, kSmallest)) - 1;
}

double probability_at_most(const Estimate& x, double limit) {
  if (limit <= 0) return 0;
  return normal_below(std::log(limit / x.value) / std::max(log_deviation(x), kSmallest));
}

double probability_above(const Estimate& a, const Estimate& b) {
  const double spread = std::hypot(log_deviation(a), log_deviation(b));
  return normal_below(std::log(a.value / b.value) / std::max(spread, kSmallest));
}

double nine_of_ten(const Estimate& x) {
  return x.value * std::exp(kOneSided * log_deviation(x));
}

double expected_log(const Estimate& x) {
  // The mean of a half-normal is sqrt(2/pi) of its deviation.
  const double up = std::log(x.high / x.value) / kNormal90;
  const double down = std::log(x.value / x.low) / kNormal90;
  return std::log(x.value) + 0.5 * std::sqrt(2 * std::numbers::inv_pi) * (up - down);
}

}  // namespace lockstep::predict
