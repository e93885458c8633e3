#include "lockstep/predict/scaling_forms.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lockstep::predict {
namespace {

/// A fall of more than a factor of 3.3 at one count is a change of regime, not noise to recover
/// from; and no form may promise a greater gain than that.
constexpr double kLargestRecovery = 1.2;
/// No form may lose more than a factor of 12 in efficiency per doubling.
constexpr double kLargestLossPerDoubling = 2.5;
/// Shrinking t is believed down to this part of its last value.
constexpr double kSmallestTimeRatio = 0.25;

double time_ratio_to_log(double ratio) {
  return -std::log(std::max(ratio, kSmallestTimeRatio));
}

/// t = t_first + c (shape(n) - shape(n_first)), through the first and the last point.
double through_ends(const std::vector<ScalingPoint>& points, const std::vector<double>& logs,
                    double target, const std::function<double(double)>& shape) {
  const double first = points.front().workers;
  const double last = points.back().workers;
  const double t_last = std::exp(-logs.back());
  const double growth = (t_last - 1) * (shape(target) - shape(last)) / (shape(last) - shape(first));
  return time_ratio_to_log(1 + growth / t_last);
}

/// More workers made the job slower, and yet more of them slower still: that is no outlier.
bool keeps_falling(const std::vector<ScalingPoint>& points) {
  const std::size_t last = points.size() - 1;
  return last >= 2 && points[last].rate < points[last - 1].rate &&
         points[last - 1].rate < points[last - 2].rate;
}

/// Slope of the least-squares line of log efficiency over log2 workers.
double slope(const std::vector<ScalingPoint>& points, const std::vector<double>& logs) {
  const double n = static_cast<double>(points.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    mean_x += std::log2(points[i].workers) / n;
    mean_y += logs[i] / n;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = std::log2(points[i].workers) - mean_x;
    xx += x * x;
    xy += x * (logs[i] - mean_y);
  }
  return xy / xx;
}

}  // namespace

std::string_view form_name(Form form) {
  constexpr std::array<std::string_view, kFormCount> kNames{
      "steady",   "ring", "tree",      "linear",  "power_last", "power_all",
      "previous", "best", "increment", "typical", "steep"};
  return kNames[static_cast<std::size_t>(form)];
}

std::array<double, kFormCount> evaluate_forms(const std::vector<ScalingPoint>& points,
                                              const std::vector<double>& logs, double target,
                                              std::size_t comparable) {
  std::array<double, kFormCount> change{};
  const auto set = [&](Form form, double value) { change[static_cast<std::size_t>(form)] = value; };
  const double doublings = std::log2(target / points.back().workers);
  set(Form::kTypicalLoss, -0.04 * doublings);
  set(Form::kSteepLoss, -0.35 * doublings);
  const std::size_t last = points.size() - 1;
  if (last >= 1) {
    const double step = std::log2(points[last].workers / points[last - 1].workers);
    set(Form::kRing, through_ends(points, logs, target, [](double n) { return -1 / n; }));
    set(Form::kTree, through_ends(points, logs, target, [](double n) { return std::log2(n); }));
    set(Form::kLinear, through_ends(points, logs, target, [](double n) { return n; }));
    set(Form::kPowerLast, (logs[last] - logs[last - 1]) / step * doublings);
    set(Form::kPowerAll, slope(points, logs) * doublings);
    const double t_ratio = std::exp(logs[last] - logs[last - 1]);
    set(Form::kIncrement, time_ratio_to_log(1 + (1 - t_ratio) / step * doublings));
  }
  // What rose from one count to the next was noise or the end of a disturbance, not a law to go on
  // by: a gain may be kept (steady) or lost again, but no form adds to it.
  for (double& value : change) value = std::min(value, 0.0);
  if (last >= 2 && !keeps_falling(points)) {
    const double fall = logs[last - 1] - logs[last];
    if (std::fabs(fall) < kLargestRecovery && comparable < last) set(Form::kPrevious, fall);
    const auto first = logs.begin() + static_cast<long>(std::max<std::size_t>(comparable, 1));
    const double gap = *std::max_element(first, logs.end()) - logs[last];
    if (gap < kLargestRecovery) set(Form::kBest, gap);
  }
  const double floor = -kLargestLossPerDoubling * std::max(doublings, 0.5);
  for (double& value : change) value = std::clamp(value, floor, kLargestRecovery);
  return change;
}

}  // namespace lockstep::predict
