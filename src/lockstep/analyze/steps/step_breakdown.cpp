#include "lockstep/analyze/steps/step_breakdown.h"

#include <algorithm>

namespace lockstep::analyze {
namespace {

/// Steps that never become complete (a rank that died) are forgotten beyond that many.
constexpr std::size_t kMostOpenSteps = 1024;

void divide(RankBreakdown& breakdown, double count) {
  breakdown.step /= count;
  for (Seconds& phase : breakdown.phases) phase /= count;
}

RankBreakdown mean_over(const std::vector<RankBreakdown>& ranks) {
  RankBreakdown mean;
  mean.rank = -1;
  for (const RankBreakdown& rank : ranks) {
    mean.steps += rank.steps;
    mean.step += rank.step;
    for (std::size_t p = 0; p < mean.phases.size(); ++p) mean.phases[p] += rank.phases[p];
  }
  divide(mean, static_cast<double>(ranks.size()));
  return mean;
}

}  // namespace

void StepBreakdownBuilder::Sums::add(const Sums& other) {
  steps += other.steps;
  total_s += other.total_s;
  for (std::size_t p = 0; p < phase_s.size(); ++p) phase_s[p] += other.phase_s[p];
  last += other.last;
  others_waited_s += other.others_waited_s;
}

StepBreakdownBuilder::Sums& StepBreakdownBuilder::sums_for(RankSums& rank, std::int64_t step) {
  return step < rank.first_step + kWarmupSteps ? rank.warmup : rank.steady;
}

void StepBreakdownBuilder::add(const record::StepBlock& block) {
  for (const record::StepTimes& step : block.steps) {
    const auto [entry, is_new] = ranks_.try_emplace(step.rank);
    // A run that was resumed begins at a later step, and warms up again.
    if (is_new) entry->second.first_step = step.step;
    Sums one;
    one.steps = 1;
    one.total_s = step.total_s;
    one.phase_s = step.phase_s;
    sums_for(entry->second, step.step).add(one);
    if (workers_ > 1 && step.ready_ns != 0) note_ready(step);
  }
}

void StepBreakdownBuilder::note_ready(const record::StepTimes& step) {
  OpenStep& open = open_[step.step];
  ++open.heard;
  open.waited_s += step[record::Phase::kWait];
  if (open.last_rank < 0 || step.ready_ns > open.last_ready_ns) {
    open.last_rank = step.rank;
    open.last_ready_ns = step.ready_ns;
  }
  if (open.heard == workers_) {
    Sums delay;
    delay.last = 1;
    delay.others_waited_s = open.waited_s / (workers_ - 1);
    sums_for(ranks_[open.last_rank], step.step).add(delay);
    open_.erase(step.step);
  }
  if (open_.size() > kMostOpenSteps) open_.erase(open_.begin());
}

StepBreakdown StepBreakdownBuilder::result() const {
  StepBreakdown result;
  if (ranks_.empty()) return result;
  const bool leave_out = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return warm_up_steps(entry.second.warmup.steps + entry.second.steady.steps) > 0;
  });
  if (leave_out) result.warmup_steps = kWarmupSteps;

  std::int64_t counted = 0;
  SlowestRank slowest;
  std::int64_t slowest_last = 0;
  for (const auto& [number, sums] : ranks_) {
    Sums used = sums.steady;
    if (!leave_out) used.add(sums.warmup);
    RankBreakdown rank;
    rank.rank = number;
    rank.steps = used.steps;
    rank.step = Seconds(used.total_s);
    for (std::size_t p = 0; p < rank.phases.size(); ++p) rank.phases[p] = Seconds(used.phase_s[p]);
    if (used.steps > 0) divide(rank, static_cast<double>(used.steps));
    result.ranks.push_back(rank);
    counted += used.last;
    if (used.last > 0 && (slowest_last == 0 || used.others_waited_s > slowest.cost.count())) {
      slowest.rank = number;
      slowest.cost = Seconds(used.others_waited_s);
      slowest_last = used.last;
    }
  }
  result.mean = mean_over(result.ranks);
  if (counted > 0) {
    slowest.last_share = static_cast<double>(slowest_last) / static_cast<double>(counted);
    slowest.cost /= static_cast<double>(counted);
    if (result.mean.step.count() > 0) slowest.cost_share = slowest.cost / result.mean.step;
    result.slowest = slowest;
  }
  return result;
}

}  // namespace lockstep::analyze
