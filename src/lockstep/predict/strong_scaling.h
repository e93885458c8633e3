#pragma once

#include "lockstep/predict/scaling_series.h"

namespace lockstep::predict {

/// With a fixed global batch the step time is u(n) = a/n + o(n): the compute that is shared out,
/// and the overhead o that is not. Perfect sharing hides in u how o grows, so such a series is
/// predicted as the weak-scaling series of the same overhead, t(n) = a/n0 + o(n), whose laws are
/// known. n0 is the smallest count; its own overhead counts as part of a.
class StrongScaling {
 public:
  /// The series must not be empty.
  explicit StrongScaling(const ScalingSeries& strong);

  ScalingSeries weak_equivalent(const ScalingSeries& strong) const;
  double weak_rate(double workers, double strong_rate) const;
  /// The inverse; where the weak rate promises less than no overhead, half of a/n is the floor.
  double strong_rate(double workers, double weak_rate) const;

 private:
  double shared_;  ///< a
  double first_;   ///< n0
};

}  // namespace lockstep::predict
