#pragma once

namespace lockstep::predict {

/// Half the width of the 90 % interval of a normal distribution, in standard deviations.
inline constexpr double kNormal90 = 1.645;

/// A number with its 90 % interval; low <= value <= high.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The estimate of 1/x, of x scaled, ...: `f` must be monotone.
template <class F>
Estimate mapped(const Estimate& x, F f) {
  const double a = f(x.low);
  const double b = f(x.high);
  return {f(x.value), a < b ? a : b, a < b ? b : a};
}

}  // namespace lockstep::predict
