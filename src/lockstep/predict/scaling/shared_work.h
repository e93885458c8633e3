#pragma once

#include <vector>

#include "lockstep/predict/scaling/scaling_series.h"

namespace lockstep::predict {

/// Series whose workers get less to do as there are more of them. The time of a step (or of a whole
/// run) is t = a + c w + overhead(n), w the share of one worker: its batch where both batches
/// change and are known, else 1/n. With a fixed global batch, a + c/n is Amdahl's law.
class SharedWork {
 public:
  /// Two points or more. A target without a batch is taken to keep that of the last point.
  SharedWork(const ScalingSeries& series, const ScalingPoint& target);

  /// Change of log efficiency to the target, t = a + c w through the last point and the last one
  /// before it whose share differs; neither part below 0. Steady where all shares are the same.
  double through_last_two() const;

  /// The same by non-negative least squares of relative errors through all points; the line is
  /// moved to pass through the last point.
  double through_all() const;

 private:
  double change_to(double time_ratio) const;

  std::vector<double> workers_;
  std::vector<double> share_;
  std::vector<double> time_;
  double target_workers_;
  double target_share_;
};

}  // namespace lockstep::predict
