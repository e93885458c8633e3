#include "lockstep/predict/scaling_features.h"

#include <algorithm>
#include <cmath>

namespace lockstep::predict {
namespace {

std::vector<double> slopes(const std::vector<ScalingPoint>& points,
                           const std::vector<double>& logs) {
  std::vector<double> result;
  for (std::size_t i = 1; i < points.size(); ++i) {
    result.push_back((logs[i] - logs[i - 1]) /
                     std::log2(points[i].workers / points[i - 1].workers));
  }
  return result;
}

double mean_absolute_change(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (std::size_t i = 1; i < values.size(); ++i) sum += std::fabs(values[i] - values[i - 1]);
  return sum / static_cast<double>(values.size() - 1);
}

/// Rolling origin: count i predicted from the counts before it, for i = 2, 3, ...
std::array<double, kFormCount> rolling_errors(const std::vector<ScalingPoint>& points,
                                              const std::vector<double>& logs, int host) {
  std::array<double, kFormCount> errors{};
  if (points.size() < 4) return errors;
  const auto checks = static_cast<double>(points.size() - 2);
  for (std::size_t i = 2; i < points.size(); ++i) {
    const std::vector<ScalingPoint> seen(points.begin(), points.begin() + static_cast<long>(i));
    const std::vector<double> seen_logs(logs.begin(), logs.begin() + static_cast<long>(i));
    const auto forms =
        evaluate_forms(seen, seen_logs, points[i].workers, first_across_hosts(seen, host));
    for (std::size_t f = 0; f < forms.size(); ++f) {
      errors[f] += std::fabs(forms[f] - (logs[i] - logs[i - 1])) / checks;
    }
  }
  // One check is no evidence about the next count; many are.
  for (double& error : errors) error *= (checks - 1) / checks;
  return errors;
}

}  // namespace

Situation describe(const ScalingSeries& series, const ScalingPoint& target) {
  const std::vector<ScalingPoint>& points = series.points;
  const std::vector<double> logs = log_efficiencies(points);
  const std::vector<double> slope = slopes(points, logs);
  const Boundary boundary = locate_boundary(series, target);
  Situation situation;
  situation.evidence = points.size() == 1   ? Evidence::kOnePoint
                       : points.size() == 2 ? Evidence::kTwoPoints
                                            : Evidence::kThreeOrMore;
  const auto set = [&](Feature feature, double value) {
    situation.features[static_cast<std::size_t>(feature)] = value;
  };
  const double last = points.back().workers;
  if (!slope.empty()) {
    set(Feature::kLastSlope, slope.back());
    set(Feature::kMeanSlope, logs.back() / std::log2(last / points.front().workers));
    set(Feature::kLargestRise, std::max(0.0, *std::max_element(slope.begin(), slope.end())));
  }
  if (slope.size() >= 2) {
    set(Feature::kPreviousSlope, slope[slope.size() - 2]);
    set(Feature::kCurvature, slope.back() - slope[slope.size() - 2]);
  }
  set(Feature::kRoughness, mean_absolute_change(slope));
  set(Feature::kCrossesNext, boundary.crosses_next);
  set(Feature::kBeyond, boundary.beyond);
  set(Feature::kJustCrossed, boundary.just_crossed);
  set(Feature::kLastCount, std::log2(last));
  set(Feature::kPoints, static_cast<double>(std::min<std::size_t>(points.size(), 6)));
  set(Feature::kDoublings, std::log2(target.workers / last));
  const int host = series.devices_per_host;
  situation.forms = evaluate_forms(points, logs, target.workers, first_across_hosts(points, host));
  situation.own_errors = rolling_errors(points, logs, host);
  return situation;
}

}  // namespace lockstep::predict
