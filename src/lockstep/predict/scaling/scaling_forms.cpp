#include "lockstep/predict/scaling/scaling_forms.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "lockstep/base/statistics.h"
#include "lockstep/predict/scaling/classic_models.h"
#include "lockstep/predict/scaling/shared_work.h"

namespace lockstep::predict {
namespace {

/// No form may promise a greater gain in efficiency than a factor of 3.3.
constexpr double kLargestGain = 1.2;
/// No form may lose more than a factor of 12 in efficiency per doubling.
constexpr double kLargestLossPerDoubling = 2.5;
/// Loss per doubling (log) of least mean error from the first count of published series on, a
/// source counting by the square root of its series.
constexpr double kLossOfFirstWorkers = 0.045;
/// So many workers exchange gradients already: most of that loss is in their rate.
constexpr double kManyWorkers = 8;
constexpr double kLossOfManyWorkers = 0.025;
constexpr double kLossOfSharedWork = 0.1;

double typical_loss(const ScalingSeries& series) {
  if (shares_work(series)) return kLossOfSharedWork;
  return series.points.back().workers < kManyWorkers ? kLossOfFirstWorkers : kLossOfManyWorkers;
}

/// t = t_last + c (shape(n) - shape(n_last)), through the last two points; steady where t fell.
double through_last_two(const std::vector<ScalingPoint>& points, double target,
                        const std::function<double(double)>& shape) {
  const ScalingPoint& last = points.back();
  const ScalingPoint& before = points[points.size() - 2];
  const double growth = 1 - (before.workers / before.rate) / (last.workers / last.rate);
  const double ahead =
      (shape(target) - shape(last.workers)) / (shape(last.workers) - shape(before.workers));
  return growth <= 0 ? 0 : -std::log1p(growth * ahead);
}

/// What a textbook form predicts, as the change of log efficiency from the last count.
double change_by(ClassicModel model, const ScalingSeries& series, const ScalingPoint& target) {
  const ScalingPoint& last = series.points.back();
  return std::log(predict_classic(model, series, target) / target.workers) -
         std::log(last.rate / last.workers);
}

}  // namespace

std::string_view form_name(Form form) {
  constexpr std::array<std::string_view, kFormCount> kNames{
      "steady", "ring",   "serial",  "power_last", "median_loss",
      "amdahl", "ernest", "typical", "share_last", "share_all"};
  return kNames[static_cast<std::size_t>(form)];
}

std::array<double, kFormCount> evaluate_forms(const ScalingSeries& series,
                                              const ScalingPoint& target) {
  const std::vector<ScalingPoint>& points = series.points;
  std::array<double, kFormCount> change{};
  const auto set = [&](Form form, double value) { change[static_cast<std::size_t>(form)] = value; };
  const double doublings = std::log2(target.workers / points.back().workers);
  set(Form::kTypicalLoss, -typical_loss(series) * doublings);
  if (points.size() > 1) {
    const double n = target.workers;
    set(Form::kRing, through_last_two(points, n, [](double x) { return -1 / x; }));
    set(Form::kSerial, through_last_two(points, n, [](double x) { return x; }));
    // What rose was noise or the end of a disturbance, not a law to go on by.
    set(Form::kPowerLast, std::min(0.0, change_by(ClassicModel::kPowerLaw, series, target)));
    set(Form::kMedianLoss, std::min(0.0, median(slopes(points)) * doublings));
    set(Form::kAmdahl, change_by(ClassicModel::kAmdahl, series, target));
    set(Form::kErnest, change_by(ClassicModel::kErnest, series, target));
  }
  if (points.size() > 1 && shares_work(series)) {
    const SharedWork shared(series, target);
    set(Form::kShareLast, shared.through_last_two());
    set(Form::kShareAll, shared.through_all());
  }
  const double floor = -kLargestLossPerDoubling * std::max(doublings, 0.5);
  for (double& value : change) {
    value = std::isfinite(value) ? std::clamp(value, floor, kLargestGain) : 0;
  }
  return change;
}

}  // namespace lockstep::predict
