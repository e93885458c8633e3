#include "lockstep/predict/duration/time_to_accuracy.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/predict/odds.h"

namespace lockstep::predict {
namespace {

/// Seeds alone move epochs-to-target by about this.
constexpr double kUsualSpread = 0.1;
/// Standard deviation in epochs: counting in whole ones leaves 0.29 open, and a metric that jumps
/// by as much as it gains in an epoch crosses the target early or late (Fashion-MNIST at 0.89).
constexpr double kCrossingNoise = 0.6;
/// Standard deviation (log) of the epochs per doubling below the smallest measured batch: small
/// batches may need more epochs than larger ones, which the law excludes (Fashion-MNIST at 64).
constexpr double kDoubtBelow = 0.1;
/// Beyond this (log) nothing is known.
constexpr double kMostDoubt = 2;

/// Relative, as a standard deviation.
double epochs_error(const EpochsToTarget& one) {
  return std::hypot(kUsualSpread, kCrossingNoise / one.epochs);
}

double square(double x) {
  return x * x;
}

double bounded_deviation(double variance) {
  return std::min(std::sqrt(std::max(variance, 0.0)), kMostDoubt);
}

}  // namespace

Estimate StepsModel::steps(double global_batch) const {
  const double value = least_steps * (1 + noise_batch / global_batch);
  const double variance = least_variance + 2 * covariance / global_batch +
                          noise_variance / (global_batch * global_batch);
  const double whole = examples > 0 ? kCrossingNoise * examples / (value * global_batch) : 0;
  const double below = std::max(0.0, std::log2(smallest_batch / global_batch));
  const double deviation = bounded_deviation(square(spread) + variance / square(value) +
                                             square(whole) + square(kDoubtBelow * below));
  const double factor = std::exp(kNormal90 * deviation);
  return {value, value / factor, value * factor};
}

double StepsModel::noise_factor() const {
  if (noise_variance <= 0) return 1;
  const double noise_steps = least_steps * noise_batch;
  const double variance = noise_variance / (noise_steps * noise_steps) +
                          least_variance / (least_steps * least_steps) -
                          2 * covariance / (least_steps * noise_steps);
  return std::exp(kNormal90 * bounded_deviation(variance));
}

StepsModel fit_steps(const std::vector<EpochsToTarget>& measured, double examples) {
  std::set<double> batches;
  for (const EpochsToTarget& one : measured) batches.insert(one.global_batch);
  if (batches.size() < 2 || !(examples > 0)) {
    throw Error(ErrorKind::kData,
                "steps to the target as a function of the batch need two global batches and the "
                "number of examples",
                "measure epochs to the target at a second global batch, or the noise scale");
  }
  // steps = a + c / B, in units of the error of each run.
  const auto rows = static_cast<Eigen::Index>(measured.size());
  Eigen::MatrixXd a(rows, 2);
  Eigen::VectorXd measured_steps(rows);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const EpochsToTarget& one = measured[static_cast<std::size_t>(r)];
    const double error = epochs_error(one) * one.epochs * examples / one.global_batch;
    a.row(r) << 1 / error, 1 / (one.global_batch * error);
    measured_steps(r) = 1 / epochs_error(one);
  }
  Eigen::Vector2d fit = a.colPivHouseholderQr().solve(measured_steps);
  if (fit.minCoeff() < 0) {
    // Steps that do not fall with the batch at all, or fall in full proportion to it.
    const int keep = fit(0) < 0 ? 1 : 0;
    fit.setZero();
    fit(keep) = a.col(keep).dot(measured_steps) / a.col(keep).squaredNorm();
  }
  StepsModel model;
  model.examples = examples;
  model.smallest_batch = *batches.begin();
  // A pure c/B law has no least number of steps within reach: one step of the largest noise scale.
  model.least_steps = std::max(fit(0), 1e-6 * fit(1));
  model.noise_batch = fit(1) / model.least_steps;
  const Eigen::VectorXd off = (a * fit - measured_steps).cwiseQuotient(measured_steps);
  model.spread = std::max(off.norm() / std::sqrt(static_cast<double>(rows)), kUsualSpread);
  const Eigen::Matrix2d covariance = (a.transpose() * a).inverse();
  model.least_variance = covariance(0, 0);
  model.noise_variance = covariance(1, 1);
  model.covariance = covariance(0, 1);
  return model;
}

bool epochs_grow_with_batch(const std::vector<EpochsToTarget>& measured) {
  struct AtBatch {
    double logs = 0;
    double variance = 0;  ///< of the sum of logs
    double runs = 0;
  };
  std::map<double, AtBatch> by_batch;
  for (const EpochsToTarget& one : measured) {
    AtBatch& at = by_batch[one.global_batch];
    at.logs += std::log(one.epochs);
    at.variance += std::pow(epochs_error(one), 2);
    at.runs += 1;
  }
  if (by_batch.size() < 2) return false;
  const AtBatch& small = by_batch.begin()->second;
  const AtBatch& large = by_batch.rbegin()->second;
  const double growth = large.logs / large.runs - small.logs / small.runs;
  const double error = std::sqrt(small.variance) / small.runs;
  const double other = std::sqrt(large.variance) / large.runs;
  return growth > kNormal90 * std::hypot(error, other);
}

StepsModel steps_from_noise_scale(double noise_batch, const EpochsToTarget& measured,
                                  double examples) {
  if (!(noise_batch >= 0) || !(measured.epochs > 0) || !(measured.global_batch > 0) ||
      !(examples > 0)) {
    throw Error(ErrorKind::kData, "the noise scale needs epochs to the target at one global batch",
                "measure one run to the target");
  }
  StepsModel model;
  const double steps = measured.epochs * examples / measured.global_batch;
  model.noise_batch = noise_batch;
  model.least_steps = steps / (1 + noise_batch / measured.global_batch);
  // The noise scale grows while training; one value for all of it is good to a factor of about 1.3.
  model.spread = 0.2;
  return model;
}

StepsModel steps_at_constant_epochs(const EpochsToTarget& measured, double examples) {
  // Large enough that S_min is out of reach of any batch.
  StepsModel model = steps_from_noise_scale(1e6 * measured.global_batch, measured, examples);
  model.spread = 0.3;
  return model;
}

std::optional<TimeToTarget> time_to_target(const JobPrediction& job, const StepsModel& model,
                                           double global_batch) {
  if (!job.throughput) return std::nullopt;
  TimeToTarget point;
  point.workers = job.scaling.workers;
  point.steps = model.steps(global_batch);
  const Estimate step_s = mapped(*job.throughput, [&](double rate) { return global_batch / rate; });
  point.hours = mapped(product(point.steps, step_s), [](double s) { return s / 3600; });
  point.device_hours =
      mapped(point.hours, [&](double hours) { return hours * job.scaling.workers; });
  return point;
}

}  // namespace lockstep::predict
