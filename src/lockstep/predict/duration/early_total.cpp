#include "lockstep/predict/duration/early_total.h"

#include <algorithm>
#include <cmath>

#include "lockstep/base/statistics.h"

namespace lockstep::predict {
namespace {

constexpr std::int64_t kFirstPrediction = 12;
constexpr std::size_t kMostBlocks = 1024;
/// Fewer say nothing about how much they vary.
constexpr std::size_t kFewestBlocks = 4;
/// Slow changes that the steps seen so far cannot show (clocks, neighbours, growing data): part of
/// the remaining time, however steady the run has been.
constexpr double kDrift = 0.08;
/// Of the spread, either way: what held 9 of 10 totals when recorded runs were replayed, quiet and
/// busy machines alike (docs/guide/predict.md). What slowed the first steps down often goes away.
constexpr double kFaster = 2.6;
constexpr double kSlower = 2.0;
constexpr double kWidestSpread = 1;
constexpr double kLeastOfRest = 0.3;

/// By how much stretches of the run differ from each other, relative to their mean: what is to come
/// is taken to be one more of them. About sqrt(n) stretches, because noise of the neighbours lasts:
/// the error of the mean, which shrinks with every step, predicts far too narrow an interval.
double spread_of_stretches(const std::vector<double>& values, double mean) {
  const auto n = static_cast<double>(values.size());
  const std::size_t stretches =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::sqrt(n)), 2, 32);
  const std::size_t length = std::max<std::size_t>(values.size() / stretches, 1);
  std::vector<double> means;
  for (std::size_t s = 0; s < stretches && (s + 1) * length <= values.size(); ++s) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += values[s * length + i];
    means.push_back(sum / static_cast<double>(length));
  }
  const double by_values = summarize(values).deviation / std::sqrt(static_cast<double>(length));
  // Few stretches scatter: the values are the floor, and Student's quantile makes up for them.
  return std::max(summarize(means).deviation, by_values) / mean *
         (1 + 2.0 / static_cast<double>(stretches));
}

}  // namespace

EarlyTotal::EarlyTotal(std::int64_t total_steps)
    : total_steps_(std::max<std::int64_t>(total_steps, 1)) {}

bool EarlyTotal::enough() const {
  return steps_ >= kFirstPrediction && blocks_.size() >= kFewestBlocks;
}

void EarlyTotal::add(double seconds, std::int64_t steps) {
  if (!std::isfinite(seconds) || seconds <= 0 || steps < 1) return;
  steps_ += steps;
  elapsed_s_ += seconds;
  if (blocks_.empty() || blocks_.back().steps >= block_steps_) blocks_.emplace_back();
  blocks_.back().seconds += seconds;
  blocks_.back().steps += steps;
  if (blocks_.size() <= kMostBlocks) return;
  for (std::size_t i = 0; i + 1 < blocks_.size(); i += 2) {
    blocks_[i / 2] = {blocks_[i].seconds + blocks_[i + 1].seconds,
                      blocks_[i].steps + blocks_[i + 1].steps};
  }
  const bool odd = blocks_.size() % 2 != 0;
  if (odd) blocks_[blocks_.size() / 2] = blocks_.back();
  blocks_.resize(blocks_.size() / 2 + (odd ? 1 : 0));
  block_steps_ *= 2;
}

std::size_t EarlyTotal::first_steady_block() const {
  // Steady is what the second half did. Warm-up lasts until three blocks in a row look like it.
  std::vector<double> later;
  for (std::size_t i = blocks_.size() / 2; i < blocks_.size(); ++i) {
    later.push_back(blocks_[i].mean());
  }
  const double middle = median(later);
  std::vector<double> deviations;
  for (double value : later) deviations.push_back(std::fabs(value - middle));
  const double limit = middle + std::max(4 * 1.4826 * median(deviations), 0.03 * middle);
  for (std::size_t i = 0; i + 2 < blocks_.size() / 2; ++i) {
    if (blocks_[i].mean() <= limit && blocks_[i + 1].mean() <= limit &&
        blocks_[i + 2].mean() <= limit) {
      return i;
    }
  }
  return blocks_.size() / 2;
}

std::int64_t EarlyTotal::warm_up_steps() const {
  if (!enough()) return 0;
  std::int64_t count = 0;
  const std::size_t first = first_steady_block();
  for (std::size_t i = 0; i < first; ++i) count += blocks_[i].steps;
  return count;
}

std::optional<double> EarlyTotal::steady_step_s() const {
  if (!enough()) return std::nullopt;
  Block steady;
  for (std::size_t i = first_steady_block(); i < blocks_.size(); ++i) {
    steady.seconds += blocks_[i].seconds;
    steady.steps += blocks_[i].steps;
  }
  return steady.mean();
}

std::optional<Estimate> EarlyTotal::total() const {
  const std::optional<double> step = steady_step_s();
  if (!step) return std::nullopt;
  const auto left = static_cast<double>(std::max<std::int64_t>(total_steps_ - steps_, 0));
  std::vector<double> means;
  for (std::size_t i = first_steady_block(); i < blocks_.size(); ++i) {
    means.push_back(blocks_[i].mean());
  }
  const double spread =
      std::min(std::hypot(kDrift, spread_of_stretches(means, *step)), kWidestSpread);
  const double rest = left * *step;
  return Estimate{elapsed_s_ + rest,
                  elapsed_s_ + rest * std::max(std::exp(-kFaster * spread), kLeastOfRest),
                  elapsed_s_ + rest * std::exp(kSlower * spread)};
}

Estimate total_from_first_epoch(const Estimate& first_epoch_s, std::int64_t epochs,
                                FirstEpoch where) {
  // A later epoch over the first, and how far that is from it either way.
  constexpr Estimate kDevice{0.88, 0.75, 1.02};
  constexpr Estimate kHost{1.0, 0.92, 1.06};
  constexpr Estimate kEither{0.92, 0.75, 1.06};
  const Estimate& ratio = where == FirstEpoch::kOnDevice ? kDevice
                          : where == FirstEpoch::kOnHost ? kHost
                                                         : kEither;
  const auto later = static_cast<double>(std::max<std::int64_t>(epochs, 1) - 1);
  const auto total = [&](double first, double r) { return first * (1 + later * r); };
  return {total(first_epoch_s.value, ratio.value), total(first_epoch_s.low, ratio.low),
          total(first_epoch_s.high, ratio.high)};
}

}  // namespace lockstep::predict
