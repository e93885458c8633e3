#include "lockstep/predict/phases/phase_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"

namespace lockstep::predict {
namespace {

/// What phases leave out: changed scheduling, the communication's own use of the processor.
constexpr double kModelSpread = 0.08;
/// Between runs of one configuration on one machine, where they were not repeated.
constexpr double kUsualRunSpread = 0.03;
/// Stretches that the steps of a run are divided into.
constexpr std::size_t kStretches = 8;

/// Sizes that differ from the message by this factor count half as much as the message.
constexpr double kNearFactor = 2;
/// What the sizes farthest from the message count at least: they separate latency from bandwidth.
constexpr double kLeastWeight = 0.003;

/// Two non-negative coefficients of two regressors that explain `values`, by least squares.
Eigen::Vector2d two_terms(const Eigen::MatrixXd& a, const Eigen::VectorXd& values) {
  Eigen::Vector2d fit = a.colPivHouseholderQr().solve(values);
  if (fit.minCoeff() >= 0) return fit;
  const int keep = fit(0) < 0 ? 1 : 0;
  fit.setZero();
  fit(keep) = a.col(keep).dot(values) / a.col(keep).squaredNorm();
  return fit;
}

/// Of a calibrated size in the fit for one message size.
double weight_of_size(double bytes, double message_bytes) {
  const double distance = std::log(bytes / message_bytes) / std::log(kNearFactor);
  return std::max(kLeastWeight, std::exp2(-distance * distance));
}

/// What backward does not hide. Buckets become ready as it goes on; the last one when it is over.
double exposed_of(double communication_s, const StepPhases& one, const PhaseQuestion& question) {
  if (question.workers < 2 || !question.overlap) return communication_s;
  const double hideable = one.backward_s * question.contention.value;
  const double last_bucket = communication_s / std::max(question.buckets, 1.0);
  return std::max(communication_s - hideable, last_bucket);
}

/// Standard error of the mean of values that come in stretches, relative to the mean.
double error_of_mean(const std::vector<double>& values) {
  if (values.size() < 2 * kStretches) {
    const Summary all = summarize(values);
    return all.mean > 0 ? all.deviation / all.mean / std::sqrt(static_cast<double>(all.count)) : 0;
  }
  std::vector<double> means;
  for (std::size_t k = 0; k < kStretches; ++k) {
    const auto begin = static_cast<long>(values.size() * k / kStretches);
    const auto end = static_cast<long>(values.size() * (k + 1) / kStretches);
    means.push_back(
        summarize(std::vector<double>(values.begin() + begin, values.begin() + end)).mean);
  }
  const Summary stretches = summarize(means);
  return stretches.mean > 0
             ? stretches.deviation / stretches.mean / std::sqrt(static_cast<double>(kStretches))
             : 0;
}

}  // namespace

double Link::all_reduce_s(double bytes, double workers) const {
  if (workers < 2) return 0;
  const double transfer = bytes / workers / bytes_per_s;
  const double round = peak_bytes_per_s > 0 ? std::max(alpha_s, transfer) : alpha_s + transfer;
  return 2 * (workers - 1) * round;
}

double Link::unhidden_s(double bytes, double workers) const {
  if (!(peak_bytes_per_s > 0) || workers < 2) return all_reduce_s(bytes, workers);
  const double rounds = 2 * (workers - 1) * (alpha_s + bytes / workers / peak_bytes_per_s);
  return std::max(rounds, all_reduce_s(bytes, workers));
}

Link Link::measured_at(double bytes, double workers, double seconds) const {
  Link link = *this;
  link.bytes_per_s = 2 * (workers - 1) / workers * bytes / seconds;
  return link;
}

Link SharedLink::applied_to(const Link& link) const {
  return {link.alpha_s, link.bytes_per_s / flows_factor, link.spread,
          link.peak_bytes_per_s / flows_factor};
}

Link fit_link(const std::vector<CollectiveTime>& calibration, double message_bytes) {
  std::set<double> sizes;
  for (const CollectiveTime& one : calibration) {
    if (one.seconds > 0 && one.bytes > 0 && one.workers > 1) sizes.insert(one.bytes);
  }
  if (sizes.size() < 2) {
    throw Error(ErrorKind::kData, "one message size cannot separate latency from bandwidth",
                "calibrate with several sizes: lockstep bench collectives");
  }
  const double near = std::clamp(message_bytes, *sizes.begin(), *sizes.rbegin());
  // Each row is an equation "the terms add up to 1", scaled by the root of its weight.
  Eigen::MatrixXd a(static_cast<Eigen::Index>(calibration.size()), 2);
  Eigen::VectorXd roots(a.rows());
  Eigen::Index rows = 0;
  for (const CollectiveTime& one : calibration) {
    if (one.seconds <= 0 || one.bytes <= 0 || one.workers < 2) continue;
    const double n = one.workers;
    const double root = message_bytes > 0 ? std::sqrt(weight_of_size(one.bytes, near)) : 1;
    a.row(rows) << 2 * (n - 1) / one.seconds, 2 * (n - 1) / n * one.bytes / one.seconds;
    a.row(rows) *= root;
    roots(rows++) = root;
  }
  a.conservativeResize(rows, 2);
  roots.conservativeResize(rows);
  const Eigen::Vector2d fit = two_terms(a, roots);
  Link link;
  link.alpha_s = fit(0);
  link.bytes_per_s = fit(1) > 0 ? 1 / fit(1) : 1e15;
  link.spread = (a * fit - roots).norm() / roots.norm();
  return link;
}

Link fit_link_near(const std::vector<CollectiveTime>& calibration, double message_bytes) {
  Link near = fit_link(calibration, message_bytes);
  double most = 2;
  double latency = near.alpha_s;
  for (const CollectiveTime& one : calibration) {
    if (one.seconds <= 0 || one.bytes <= 0 || one.workers < 2) continue;
    const double n = one.workers;
    most = std::max(most, n);
    latency = std::min(latency, one.seconds / (2 * (n - 1)));
    near.peak_bytes_per_s =
        std::max(near.peak_bytes_per_s, 2 * (n - 1) / n * one.bytes / one.seconds);
  }
  const double seconds = 2 * (most - 1) * (near.alpha_s + message_bytes / most / near.bytes_per_s);
  near.alpha_s = latency;
  return near.measured_at(message_bytes, most, seconds);
}

StepPhases mean_phases(const std::vector<record::StepTimes>& steps, std::size_t warm_up) {
  if (steps.size() <= warm_up) {
    throw Error(ErrorKind::kData, "no steps were recorded beyond the warm-up",
                "train with step recording on, for a few dozen steps at least");
  }
  using record::Phase;
  StepPhases mean;
  std::vector<double> totals;
  for (std::size_t i = warm_up; i < steps.size(); ++i) {
    const record::StepTimes& step = steps[i];
    mean.input_s += step[Phase::kInputWait];
    mean.forward_s += step[Phase::kForward];
    mean.backward_s += step[Phase::kBackward];
    mean.other_s += step[Phase::kHostToDevice] + step[Phase::kOptimizer] + step[Phase::kOther];
    mean.transfer_s += step[Phase::kTransfer];
    totals.push_back(step.total_s - step.exposed_s());
  }
  const auto n = static_cast<double>(totals.size());
  for (double* sum :
       {&mean.input_s, &mean.forward_s, &mean.backward_s, &mean.other_s, &mean.transfer_s}) {
    *sum /= n;
  }
  mean.mean_error = error_of_mean(totals);
  std::sort(totals.begin(), totals.end());
  mean.totals_s = std::move(totals);
  return mean;
}

double StepPhases::slowest_excess_s(double workers) const {
  if (workers < 2 || totals_s.empty()) return 0;
  // The i-th of n values is the largest of N drawn ones with probability (i/n)^N - ((i-1)/n)^N.
  const auto n = static_cast<double>(totals_s.size());
  double mean = 0;
  double largest = 0;
  double below = 0;
  for (std::size_t i = 0; i < totals_s.size(); ++i) {
    const double up_to = std::pow(static_cast<double>(i + 1) / n, workers);
    largest += totals_s[i] * (up_to - below);
    mean += totals_s[i] / n;
    below = up_to;
  }
  return largest - mean;
}

PhasePrediction predict_phases(const StepPhases& one, const Link& link,
                               const PhaseQuestion& question) {
  const double n = question.workers;
  const double contention = question.contention.value;
  PhasePrediction result;
  result.compute_s = one.compute_s() * contention;
  const Link shared_link = question.shared_link.applied_to(link);
  result.communication_s = shared_link.all_reduce_s(question.gradient_bytes, n);
  result.exposed_s = exposed_of(result.communication_s, one, question);
  result.straggler_s = one.slowest_excess_s(n) * contention;
  // A loader that keeps one worker waiting takes compute + wait for a batch, however long the rest
  // of the step becomes.
  const double loader_s = one.input_s > 0 ? one.compute_s() + one.input_s : 0;
  const double busy = result.compute_s + result.exposed_s + result.straggler_s;
  result.input_bound = one.input_s > 0.05 * one.compute_s() && loader_s > busy;
  const double step = std::max(loader_s, busy);
  // Both the run that was measured and the one to come are single ones.
  const double run = question.run_spread > 0 ? question.run_spread : kUsualRunSpread;
  result.run_part = kNormal90 * std::hypot(std::sqrt(2.0) * run, one.mean_error);
  const double compute_share = (result.compute_s + result.straggler_s) / std::max(busy, 1e-300);
  result.contention_part =
      compute_share * (question.contention.high - question.contention.low) / (2 * contention);
  result.link_part =
      std::hypot(kNormal90 * link.spread * result.exposed_s, result.straggler_s) / step;
  const double shared = std::hypot(n > 1 ? kModelSpread : 0.0, result.run_part, result.link_part);
  // Either end as a ratio to the step, so that the interval covers both ends of the contention.
  const double less = compute_share * (contention / question.contention.low - 1);
  const double more = compute_share * (question.contention.high / contention - 1);
  const double unhidden =
      (exposed_of(shared_link.unhidden_s(question.gradient_bytes, n), one, question) -
       result.exposed_s) /
      step;
  result.link_part = std::hypot(result.link_part, unhidden / 2);
  result.step_s = {step, step / (1 + std::hypot(shared, less)),
                   step * (1 + std::hypot(shared, more, unhidden))};
  return result;
}

}  // namespace lockstep::predict
