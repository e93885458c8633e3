#include "lockstep/predict/scaling/classic_models.h"

#include <nlopt.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "lockstep/predict/scaling/non_negative_fit.h"

namespace lockstep::predict {
namespace {

constexpr int kMostFeatures = 4;

std::array<double, kMostFeatures> features(double n) {
  return {1, 1 / n, std::log(n), n};
}

/// Fits relative errors of the time at `times(n)`; gives the time at the target.
double fitted_time(const std::vector<double>& counts, const std::vector<double>& times,
                   double target, int columns) {
  const auto rows = static_cast<Eigen::Index>(counts.size());
  Eigen::MatrixXd a(rows, columns);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const auto x = features(counts[static_cast<std::size_t>(r)]);
    for (int c = 0; c < columns; ++c) {
      a(r, c) = x[static_cast<std::size_t>(c)] / times[static_cast<std::size_t>(r)];
    }
  }
  const Eigen::VectorXd fit = non_negative_fit(a, Eigen::VectorXd::Ones(rows));
  const auto x = features(target);
  double time = 0;
  for (int c = 0; c < columns; ++c) time += fit(c) * x[static_cast<std::size_t>(c)];
  return time;
}

/// Step time of the goodput form: (grad^g + sync^g)^(1/g); sync is 0 for one worker and linear in
/// the count otherwise, with one line inside a host and one across hosts. Parameters: log of grad,
/// then the two lines relative to grad, then g.
struct GoodputPoint {
  double workers;
  bool across;
  double log_time;
};

double goodput_log_time(const double* x, double workers, bool across) {
  const double* line = across ? x + 3 : x + 1;
  const double sync = workers > 1 ? line[0] + line[1] * (workers - 2) : 0;
  return x[0] + std::log1p(std::pow(sync, x[5])) / x[5];
}

double goodput_loss(unsigned, const double* x, double*, void* data) {
  double sum = 0;
  for (const GoodputPoint& point : *static_cast<const std::vector<GoodputPoint>*>(data)) {
    const double error = goodput_log_time(x, point.workers, point.across) - point.log_time;
    sum += error * error;
  }
  return sum;
}

double goodput_time(const ScalingSeries& series, const ScalingPoint& target) {
  std::vector<GoodputPoint> points;
  const auto across = [&](const ScalingPoint& point) {
    if (point.nodes > 0) return point.nodes > 1;
    return series.devices_per_host > 0 && point.workers > series.devices_per_host;
  };
  bool seen_across = false;
  for (const ScalingPoint& point : series.points) {
    points.push_back({point.workers, across(point), std::log(point.workers / point.rate)});
    seen_across = seen_across || points.back().across;
  }
  std::array<double, 6> x{points.front().log_time, 0.1, 0.01, 0.1, 0.01, 1.5};
  const std::array<double, 6> low{x[0] - 3, 0, 0, 0, 0, 1};
  const std::array<double, 6> high{x[0] + 3, 50, 50, 50, 50, 10};
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(NLOPT_LN_SBPLX, 6), nlopt_destroy);
  nlopt_set_lower_bounds(optimizer.get(), low.data());
  nlopt_set_upper_bounds(optimizer.get(), high.data());
  nlopt_set_min_objective(optimizer.get(), goodput_loss, &points);
  nlopt_set_maxeval(optimizer.get(), 1500);
  nlopt_set_ftol_rel(optimizer.get(), 1e-6);
  double value = 0;
  nlopt_optimize(optimizer.get(), x.data(), &value);
  return std::exp(goodput_log_time(x.data(), target.workers, across(target) && seen_across));
}

/// Exponent of rate = c n^power through the last two counts.
double last_power(const std::vector<ScalingPoint>& points) {
  const ScalingPoint& last = points.back();
  const ScalingPoint& before = points[points.size() - 2];
  return std::log(last.rate / before.rate) / std::log(last.workers / before.workers);
}

/// The exponent of the least-squares line of log rate over log workers.
double whole_power(const std::vector<ScalingPoint>& points) {
  const auto rows = static_cast<Eigen::Index>(points.size());
  Eigen::VectorXd x(rows);
  Eigen::VectorXd y(rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    x(r) = std::log(points[static_cast<std::size_t>(r)].workers);
    y(r) = std::log(points[static_cast<std::size_t>(r)].rate);
  }
  x.array() -= x.mean();
  return x.dot(y) / x.squaredNorm();
}

/// Amdahl's law, time = a + b/n, through the last two counts; neither part below 0.
double amdahl_of_last_two(const std::vector<ScalingPoint>& points, double target) {
  const ScalingPoint& last = points.back();
  const ScalingPoint& before = points[points.size() - 2];
  const double whole = 1 / last.rate;
  const double shared =
      std::clamp((1 / before.rate - whole) / (1 / before.workers - 1 / last.workers), 0.0,
                 whole * last.workers);
  return 1 / (whole + shared * (1 / target - 1 / last.workers));
}

double power_rate(const ScalingPoint& last, double target, double power) {
  return last.rate * std::pow(target / last.workers, power);
}

}  // namespace

std::string_view classic_name(ClassicModel model) {
  constexpr std::array<std::string_view, kClassicCount> kNames{
      "perfect",          "power law", "shrunken power law",
      "power law of all", "amdahl",    "amdahl, last two",
      "ernest",           "goodput"};
  return kNames[static_cast<std::size_t>(model)];
}

double predict_classic(ClassicModel model, const ScalingSeries& series,
                       const ScalingPoint& target) {
  const std::vector<ScalingPoint>& points = series.points;
  const ScalingPoint& last = points.back();
  const double perfect = last.rate * target.workers / last.workers;
  std::vector<double> counts;
  std::vector<double> times;
  for (const ScalingPoint& point : points) {
    counts.push_back(point.workers);
    times.push_back(model == ClassicModel::kAmdahl ? 1 / point.rate : point.workers / point.rate);
  }
  double rate = perfect;
  const bool two = points.size() > 1;
  switch (model) {
    case ClassicModel::kPerfect:
      break;
    case ClassicModel::kPowerLaw:
      if (two) rate = power_rate(last, target.workers, last_power(points));
      break;
    case ClassicModel::kShrunkenPower:
      if (two) rate = power_rate(last, target.workers, 1 + (last_power(points) - 1) / 2);
      break;
    case ClassicModel::kPowerOfAll:
      if (two) rate = power_rate(last, target.workers, whole_power(points));
      break;
    case ClassicModel::kAmdahl:
      rate = 1 / fitted_time(counts, times, target.workers, 2);
      break;
    case ClassicModel::kAmdahlLast:
      if (two) rate = amdahl_of_last_two(points, target.workers);
      break;
    case ClassicModel::kErnest:
      rate = target.workers / fitted_time(counts, times, target.workers, 4);
      break;
    case ClassicModel::kGoodput:
      rate = target.workers / goodput_time(series, target);
      break;
  }
  return std::isfinite(rate) && rate > 0 ? rate : perfect;
}

}  // namespace lockstep::predict
