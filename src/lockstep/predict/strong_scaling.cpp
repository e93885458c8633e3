#include "lockstep/predict/strong_scaling.h"

#include <algorithm>

namespace lockstep::predict {

StrongScaling::StrongScaling(const ScalingSeries& strong)
    : shared_(strong.points.front().workers / strong.points.front().rate),
      first_(strong.points.front().workers) {}

double StrongScaling::weak_rate(double workers, double strong_rate) const {
  return workers / (1 / strong_rate - shared_ / workers + shared_ / first_);
}

double StrongScaling::strong_rate(double workers, double weak_rate) const {
  const double step = workers / weak_rate + shared_ / workers - shared_ / first_;
  return 1 / std::max(step, 0.5 * shared_ / workers);
}

ScalingSeries StrongScaling::weak_equivalent(const ScalingSeries& strong) const {
  ScalingSeries weak = strong;
  weak.scaling = Scaling::kWeak;
  for (ScalingPoint& point : weak.points) point.rate = weak_rate(point.workers, point.rate);
  return weak;
}

}  // namespace lockstep::predict
