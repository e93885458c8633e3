#include "lockstep/predict/scaling/scaling_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/estimate.h"

namespace lockstep::predict {
namespace {

/// What one unrepeated measurement is taken to be off by (log); benchmarks of this kind repeat to
/// about that.
constexpr double kUsualNoise = 0.01;
constexpr double kLongestLog = 280;

/// A worker is not believed to do much better among many than it ever did: the best efficiency that
/// was measured bounds the prediction, 30 % above it bounds the interval.
constexpr double kHighestGain = 0.26;
/// More workers seldom make a job slower, and next to never by more than this factor of its rate:
/// of the prior's largest counts 1 in 100. An interval that leaves out 1 in 20 stops here.
constexpr double kLowestRate = 0.7;
/// From one count nothing is known about the exchange of gradients, which may eat up all that more
/// workers bring, so far at least; further off the errors of other series are larger than that.
constexpr double kNoGainDoublings = 3;
/// Changes of the loss per doubling (log) beyond the roughest of the prior's series: such numbers
/// are noise, which the prior's quantiles do not cover.
constexpr double kRoughest = 1.5;

/// Rate, low and high from logs of the rate; guards against overflow at absurd distances.
void set_rates(ScalingPrediction& prediction, double log_rate, double low, double high) {
  const auto bounded = [](double value) {
    return std::exp(std::clamp(value, -kLongestLog, kLongestLog));
  };
  prediction.rate = bounded(log_rate);
  prediction.low = std::min(bounded(log_rate + low), prediction.rate);
  prediction.high = std::max(bounded(log_rate + high), prediction.rate);
}

double log_rate_at(double log_efficiency, const ScalingPoint& base, double workers) {
  return log_efficiency + std::log(base.rate / base.workers) + std::log(workers);
}

double noise_of(const ScalingSeries& series) {
  return std::max({series.repeat_spread, series.rounding, kUsualNoise});
}

ScalingPrediction at_measured(const ScalingSeries& series, const ScalingPoint& point) {
  ScalingPrediction prediction;
  prediction.measured = true;
  const double half = kNormal90 * noise_of(series);
  set_rates(prediction, std::log(point.rate), -half, half);
  prediction.width.push_back(
      series.repeat_spread > series.rounding
          ? "measured; the interval is the spread of the repeats in this series"
      : series.rounding > kUsualNoise ? "measured once; the interval is the rounding of the value"
                                      : "measured once; the interval is the usual noise of 1 %");
  return prediction;
}

ScalingPrediction between(const ScalingSeries& series, std::size_t above, double workers,
                          const Prior& prior) {
  const std::vector<double> logs = log_efficiencies(series.points);
  const ScalingPoint& left = series.points[above - 1];
  const ScalingPoint& right = series.points[above];
  const double part = std::log(workers / left.workers) / std::log(right.workers / left.workers);
  const double log_efficiency = logs[above - 1] + part * (logs[above] - logs[above - 1]);
  // The prior's neighbours are two doublings apart; further apart, more can happen in between.
  const double apart = std::log2(right.workers / left.workers) / 2;
  const double difference = std::fabs(logs[above] - logs[above - 1]);
  const double scale = (0.01 + difference) * std::max(apart, 1.0);
  const double noise = kNormal90 * noise_of(series);
  ScalingPrediction prediction;
  set_rates(prediction, log_rate_at(log_efficiency, series.points.front(), workers),
            -std::hypot(prior.interior.low_quantile * scale, noise),
            std::hypot(prior.interior.high_quantile * scale, noise));
  prediction.width.push_back(fmt::format(
      "between the measured {:g} and {:g} workers, whose efficiencies differ by {:.1f} %",
      left.workers, right.workers, 100 * std::expm1(difference)));
  return prediction;
}

/// Below the smallest count: its efficiency is unknown, so the loss seen above is taken to hold
/// there, and the interval spans from no loss to twice that.
ScalingPrediction below(const ScalingSeries& series, double workers) {
  const std::vector<double> logs = log_efficiencies(series.points);
  const ScalingPoint& first = series.points.front();
  const double doublings = std::log2(first.workers / workers);
  double loss = 0.04;
  if (logs.size() > 1) {
    loss = std::clamp(-logs.back() / std::log2(series.points.back().workers / first.workers), 0.0,
                      0.7);
  }
  const double half = doublings * (loss + 0.06) + kNormal90 * noise_of(series);
  ScalingPrediction prediction;
  set_rates(prediction, log_rate_at(loss * doublings, first, workers), -half, half);
  prediction.width.push_back(
      fmt::format("below the smallest measured count of {:g}: the loss up to it was not measured",
                  first.workers));
  prediction.unknowns.push_back(fmt::format("the loss up to {:g} workers: run {}", first.workers,
                                            counted(std::llround(workers), "worker")));
  return prediction;
}

/// The count to measure beside two: on the way to a target far off, else between the two, else
/// between them and the target, else the target itself.
double third_count(double first, double last, double target) {
  if (target > 2 * last) return 2 * last;
  const double middle = std::round(std::sqrt(first * last));
  if (middle > first && middle < last) return middle;
  const double further = std::round((last + target) / 2);
  return further > last ? further : target;
}

void explain(ScalingPrediction& prediction, const ScalingSeries& series, const Situation& situation,
             const ScalingPoint& target) {
  const double last = series.points.back().workers;
  const std::size_t count = series.points.size();
  const double ratio = target.workers / last;
  if (situation.place == Place::kLeaving) {
    prediction.width.push_back(
        !situation.host_size_known
            ? fmt::format(
                  "{:g} workers may need a second host, and nothing was measured across one",
                  target.workers)
            : fmt::format("{:g} workers need more than one host, and nothing was measured across "
                          "hosts",
                          target.workers));
    const double probe = std::min(target.workers, std::max(last + 1, 2 * last));
    prediction.unknowns.push_back(
        fmt::format("the cost of leaving the host: run {:g} workers on two hosts", probe));
  }
  if (count == 1) {
    prediction.width.push_back(
        "only one worker count was measured: the loss is that of other series, and this one may "
        "gain next to nothing from more workers");
    prediction.unknowns.push_back(
        fmt::format("the loss per doubling: run {:g} workers", std::min(2 * last, target.workers)));
  } else if (count == 2) {
    prediction.width.push_back(
        "two worker counts cannot distinguish a loss that levels off from one that continues");
    prediction.unknowns.push_back(
        fmt::format("whether the loss levels off: run {:g} workers",
                    third_count(series.points.front().workers, last, target.workers)));
  }
  if (ratio > 2.5) {
    prediction.width.push_back(fmt::format("{:.3g} times the largest measured count", ratio));
    if (count > 2) {
      prediction.unknowns.push_back(fmt::format(
          "the loss up to {:g} workers: run {:g} workers first", target.workers, 2 * last));
    }
  }
  if (situation.roughness > 0.15) {
    prediction.width.push_back(situation.largest_rise > 0.02
                                   ? "the measured efficiencies jump up and down"
                                   : "the loss per doubling changes from count to count");
    prediction.unknowns.push_back(
        fmt::format("whether the value at {:g} workers is noise: repeat that run", last));
  }
  if (series.repeat_spread > 0.03) {
    prediction.width.push_back(
        fmt::format("repeats differ by {:.1f} %", 100 * series.repeat_spread));
  }
  if (series.rounding > kUsualNoise) {
    prediction.width.push_back(
        fmt::format("the values are rounded, at {:g} workers by up to {:.0f} %", last,
                    100 * std::sqrt(3.0) * series.rounding));
  }
  if (prediction.width.empty()) {
    prediction.width.push_back(
        "the errors on other series, which grow with the last loss and with the distance");
  }
}

/// Forms of shared work agree through any two counts, which does not make them right.
bool two_of_shared_work(const ScalingSeries& series) {
  return shares_work(series) && series.points.size() == 2;
}

/// How far the logarithm of the rate may lie below and above the prediction.
struct HalfWidths {
  double low = 0;
  double high = 0;
};

HalfWidths half_widths(const Situation& situation, const Mixture& mixture,
                       const SpreadPrior& spread) {
  const double scale = spread_scale(situation);
  HalfWidths widths{-spread.low_quantile * scale, spread.high_quantile * scale};
  if (situation.evidence == Evidence::kOneCount) {
    const double near = std::min(situation.doublings, kNoGainDoublings);
    const double no_gain = near * (std::log(2.0) + mixture.change / situation.doublings);
    widths.low = std::max(widths.low, no_gain);
  }
  if (situation.evidence == Evidence::kSharedWork) {
    // Where the shares do not tell compute from overhead, any of the forms may be right.
    for (const Form form : mixture.forms) {
      widths.low = std::max(widths.low, mixture.change - situation.form(form));
      widths.high = std::max(widths.high, situation.form(form) - mixture.change);
    }
  }
  return widths;
}

/// The rate at the target if the last step's fall of the rate goes on; the last rate if it rose.
double fall_gone_on(const std::vector<ScalingPoint>& points, double workers) {
  const ScalingPoint& last = points.back();
  if (points.size() < 2) return last.rate;
  const ScalingPoint& before = points[points.size() - 2];
  const double fall = std::log(last.rate / before.rate) / std::log(last.workers / before.workers);
  return last.rate * std::exp(std::clamp(fall * std::log(workers / last.workers), -3.0, 0.0));
}

/// See kLowestRate; but a job that its last workers made slower may go on to get slower, and one
/// that did so twice in a row is taken to be able to. From two counts of shared work any overhead
/// is possible, up to one that makes the job slower by as much as there are more workers.
double bounded_low(const ScalingSeries& series, const ScalingPoint& target,
                   const ScalingPrediction& prediction, double noise) {
  const std::vector<ScalingPoint>& points = series.points;
  const std::size_t count = points.size();
  const double allowed = std::exp(-std::min(noise, kLongestLog));
  if (two_of_shared_work(series)) {
    const ScalingPoint& last = points.back();
    const double slowest = last.rate * last.workers / target.workers;
    return std::max(prediction.low, kLowestRate * allowed * std::min(slowest, prediction.rate));
  }
  const double gone_on = allowed * fall_gone_on(points, target.workers);
  double low = std::max(prediction.low, kLowestRate * std::min(gone_on, prediction.rate));
  if (count > 2 && points[count - 1].rate < points[count - 2].rate &&
      points[count - 2].rate < points[count - 3].rate) {
    low = std::min(low, gone_on);
  }
  return low;
}

/// Work that the last workers made slower does not get faster with more than it ever was; weak
/// scaling does come back, where the slow count was an outlier.
double bounded_high(const ScalingSeries& series, const ScalingPrediction& prediction,
                    double noise) {
  const std::vector<ScalingPoint>& points = series.points;
  if (!shares_work(series) || points.size() < 2) return prediction.high;
  if (points.back().rate >= points[points.size() - 2].rate) return prediction.high;
  double best = prediction.rate;
  for (const ScalingPoint& point : points) best = std::max(best, point.rate);
  return std::min(prediction.high, best * std::exp(std::min(noise, kLongestLog)));
}

ScalingPrediction beyond(const ScalingSeries& series, const ScalingPoint& target,
                         const Prior& prior) {
  const Situation situation = describe(series, target);
  const Mixture mixture = mix(situation);
  const HalfWidths widths = half_widths(situation, mixture, prior.of(situation.evidence));
  // The prior's series are single runs: their noise is in its quantiles. Only what repeats show
  // beyond that is added.
  const double rounding = series.rounding * (1 + situation.doublings);
  const double erratic = std::max(0.0, situation.roughness - kRoughest);
  const double noise =
      kNormal90 * std::hypot(std::max(0.0, series.repeat_spread - 0.02), rounding, erratic);
  const std::vector<double> logs = log_efficiencies(series.points);
  const double best = *std::max_element(logs.begin(), logs.end());
  // A larger batch per worker than any before may well be more efficient than all of them.
  const double highest = series.scaling == Scaling::kMixed ? best + kHighestGain : best;
  const double log_efficiency = std::min(logs.back() + mixture.change, highest);
  const double room = highest + kHighestGain + erratic - log_efficiency;
  ScalingPrediction prediction;
  set_rates(prediction, log_rate_at(log_efficiency, series.points.front(), target.workers),
            -std::hypot(widths.low, noise), std::min(std::hypot(widths.high, noise), room));
  prediction.low = bounded_low(series, target, prediction, noise);
  prediction.high = bounded_high(series, prediction, noise);
  for (std::size_t f = 0; f < mixture.forms.size(); ++f) {
    prediction.shares.push_back({mixture.forms[f], mixture.weights[f]});
  }
  std::stable_sort(prediction.shares.begin(), prediction.shares.end(),
                   [](const FormShare& a, const FormShare& b) { return a.weight > b.weight; });
  explain(prediction, series, situation, target);
  return prediction;
}

ScalingPrediction dispatch(const ScalingSeries& series, const ScalingPoint& target,
                           const Prior& prior) {
  const std::vector<ScalingPoint>& points = series.points;
  if (target.workers > points.back().workers) return beyond(series, target, prior);
  if (target.workers < points.front().workers) return below(series, target.workers);
  std::size_t at = 0;
  while (points[at].workers < target.workers) ++at;
  if (points[at].workers == target.workers) return at_measured(series, points[at]);
  return between(series, at, target.workers, prior);
}

}  // namespace

ScalingPrediction predict_rate(const ScalingSeries& series, const ScalingPoint& target,
                               const Prior& prior) {
  if (!std::isfinite(target.workers) || target.workers < 1 || target.workers > kMostWorkers) {
    throw Error(ErrorKind::kUsage, fmt::format("cannot predict for {:g} workers", target.workers),
                "give a whole number from 1 to 1,000,000,000");
  }
  if (series.points.empty()) {
    throw Error(ErrorKind::kData, fmt::format("series '{}' has no usable measurement", series.name),
                "at least one positive throughput or time at one worker count is needed");
  }
  ScalingPrediction prediction = dispatch(series, target, prior);
  prediction.workers = target.workers;
  const ScalingPoint& first = series.points.front();
  prediction.efficiency = (prediction.rate / target.workers) / (first.rate / first.workers);
  return prediction;
}

}  // namespace lockstep::predict
