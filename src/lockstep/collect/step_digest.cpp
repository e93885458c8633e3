#include "lockstep/collect/step_digest.h"

#include <algorithm>
#include <cmath>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/base/statistics.h"

namespace lockstep::collect {
namespace {

using record::Phase;
using record::StepTimes;

constexpr std::int64_t kSamples = 65;

double computing(const StepTimes& step) {
  return step[Phase::kHostToDevice] + step[Phase::kForward] + step[Phase::kBackward] +
         step[Phase::kOptimizer];
}

}  // namespace

StepDigestBuilder::StepDigestBuilder(std::int64_t rows, int ranks, std::int64_t most_bins) {
  const std::int64_t steps = std::max<std::int64_t>(1, rows / std::max(1, ranks));
  digest_.steps_per_bin = (steps + most_bins - 1) / most_bins;
  samples_every_ = (steps + kSamples - 1) / kSamples;
}

void StepDigestBuilder::add(const StepTimes& step) {
  if (!step_.empty() && step_.front().step != step.step) close_step();
  step_.push_back(step);
}

void StepDigestBuilder::keep_sample() {
  const double length =
      std::max_element(step_.begin(), step_.end(), [](const auto& a, const auto& b) {
        return a.total_s < b.total_s;
      })->total_s;
  const bool warm = digest_.steps >= analyze::StepBreakdownBuilder::kWarmupSteps;
  if (warm && length > slowest_s_) {
    slowest_s_ = length;
    digest_.slowest = step_;
  }
  if (digest_.steps % samples_every_ == 0 && (warm || samples_every_ == 1)) {
    samples_.push_back(step_);
    sample_s_.push_back(length);
  }
}

void StepDigestBuilder::close_step() {
  keep_sample();
  double length = 0;
  std::int64_t start = step_.front().start_ns;
  for (const StepTimes& rank : step_) {
    length = std::max(length, rank.total_s);
    start = std::min(start, rank.start_ns);
    const auto at = static_cast<std::size_t>(std::max(0, rank.rank));
    if (at >= busy_s_.size()) {
      busy_s_.resize(at + 1, 0.0);
      rank_s_.resize(at + 1, 0.0);
    }
    busy_s_[at] += computing(rank);
    rank_s_[at] += rank.total_s;
  }
  if (digest_.steps == 0) first_start_ns_ = start;
  if (in_bin_ == 0) {
    bin_ = {.first_step = step_.front().step,
            .start_s = static_cast<double>(start - first_start_ns_) * 1e-9,
            .shortest_s = length,
            .longest_s = length};
  }
  bin_.last_step = step_.front().step;
  bin_.shortest_s = std::min(bin_.shortest_s, length);
  bin_.longest_s = std::max(bin_.longest_s, length);
  bin_s_ += length;
  ++in_bin_;
  ++digest_.steps;
  step_.clear();
  if (in_bin_ >= digest_.steps_per_bin) close_bin();
}

void StepDigestBuilder::close_bin() {
  if (in_bin_ == 0) return;
  bin_.mean_s = bin_s_ / static_cast<double>(in_bin_);
  for (std::size_t r = 0; r < busy_s_.size(); ++r) {
    bin_.busy.push_back(rank_s_[r] > 0 ? busy_s_[r] / rank_s_[r] : 0.0);
  }
  digest_.bins.push_back(std::move(bin_));
  bin_ = {};
  in_bin_ = 0;
  bin_s_ = 0;
  std::fill(busy_s_.begin(), busy_s_.end(), 0.0);
  std::fill(rank_s_.begin(), rank_s_.end(), 0.0);
}

StepDigest StepDigestBuilder::finish() {
  if (!step_.empty()) close_step();
  close_bin();
  if (!samples_.empty()) {
    const double middle = median(sample_s_);
    std::size_t best = 0;
    for (std::size_t i = 1; i < samples_.size(); ++i) {
      if (std::fabs(sample_s_[i] - middle) < std::fabs(sample_s_[best] - middle)) best = i;
    }
    digest_.typical = std::move(samples_[best]);
  }
  return std::move(digest_);
}

}  // namespace lockstep::collect
