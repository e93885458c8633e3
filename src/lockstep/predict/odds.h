#pragma once

#include "lockstep/predict/estimate.h"

namespace lockstep::predict {

/// Estimates as log-normal quantities: what follows from value and interval. All are positive.

/// Standard deviation of the logarithm behind the 90 % interval.
double log_deviation(const Estimate& x);

/// a b, the two taken as independent: their relative errors add in squares.
Estimate product(const Estimate& a, const Estimate& b);

/// P(z <= `z`) of the standard normal distribution.
double normal_below(double z);
/// Of the interval that reaches `size` from the value, where one of 90 % reaches `half`.
double central_probability(double size, double half);

/// P(x <= limit).
double probability_at_most(const Estimate& x, double limit);

/// P(a > b), the two taken as independent.
double probability_above(const Estimate& a, const Estimate& b);

/// Below which x stays 9 times of 10.
double nine_of_ten(const Estimate& x);

/// Mean of the logarithm, half of the probability on either side of the value: of two equal values
/// the one that may turn out much higher and hardly lower counts as higher.
double expected_log(const Estimate& x);

}  // namespace lockstep::predict
