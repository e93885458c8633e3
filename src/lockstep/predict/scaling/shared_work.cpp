#include "lockstep/predict/scaling/shared_work.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "lockstep/predict/scaling/non_negative_fit.h"

namespace lockstep::predict {
namespace {

bool batches_known(const ScalingSeries& series) {
  return series.scaling == Scaling::kMixed &&
         std::all_of(series.points.begin(), series.points.end(),
                     [](const ScalingPoint& point) { return point.batch > 0; });
}

}  // namespace

SharedWork::SharedWork(const ScalingSeries& series, const ScalingPoint& target)
    : target_workers_(target.workers), target_share_(1 / target.workers) {
  const bool batches = batches_known(series);
  for (const ScalingPoint& point : series.points) {
    workers_.push_back(point.workers);
    share_.push_back(batches ? point.batch : 1 / point.workers);
    time_.push_back(point.workers * share_.back() / point.rate);
  }
  if (batches) target_share_ = target.batch > 0 ? target.batch : share_.back();
}

double SharedWork::change_to(double time_ratio) const {
  return std::log(target_share_ / share_.back()) - std::log(time_ratio);
}

double SharedWork::through_last_two() const {
  const double share = share_.back();
  const double time = time_.back();
  double slope = time / share;
  for (std::size_t i = time_.size() - 1; i-- > 0;) {
    if (share_[i] == share) continue;
    slope = (time - time_[i]) / (share - share_[i]);
    if (slope < 0 && share_[i] > share) {
      // Less to do each, and yet slower: what grows is overhead, by as much per doubling.
      const double doublings =
          std::log(target_workers_ / workers_.back()) / std::log(workers_.back() / workers_[i]);
      return change_to(1 + (1 - time_[i] / time) * doublings);
    }
    slope = std::clamp(slope, 0.0, time / share);
    break;
  }
  return change_to(1 + slope * (target_share_ - share) / time);
}

double SharedWork::through_all() const {
  const auto rows = static_cast<Eigen::Index>(time_.size());
  Eigen::MatrixXd a(rows, 2);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    a.row(r) = Eigen::RowVector2d{1, share_[at]} / time_[at];
  }
  const Eigen::VectorXd fit = non_negative_fit(a, Eigen::VectorXd::Ones(rows));
  return change_to((fit(0) + fit(1) * target_share_) / (fit(0) + fit(1) * share_.back()));
}

}  // namespace lockstep::predict
