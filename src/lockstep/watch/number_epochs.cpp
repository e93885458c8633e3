#include "lockstep/watch/number_epochs.h"

#include <algorithm>

namespace lockstep::watch {
namespace {

/// How much longer than the printed time of an epoch its steps may seem to take: times are rounded.
constexpr double kTimeTolerance = 1.05;
constexpr double kTimeRounding = 0.05;  // s

bool has_numbers(const std::vector<RankRecord>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankRecord& rank) {
    return std::any_of(rank.steps.begin(), rank.steps.end(),
                       [](const WatchedStep& step) { return step.times.epoch > 0; });
  });
}

bool are_in_order(std::span<const record::EpochResult> printed) {
  if (printed.empty() || printed.front().epoch < 0 || printed.front().epoch > 1) return false;
  for (std::size_t i = 1; i < printed.size(); ++i) {
    if (printed[i].epoch != printed[i - 1].epoch + 1) return false;
  }
  return true;
}

/// Steps per epoch; 0 = unknown.
std::size_t steps_of_an_epoch(const std::vector<RankRecord>& ranks,
                              std::span<const record::EpochResult> printed) {
  const std::vector<WatchedStep>& steps = ranks.front().steps;
  // One epoch may be a summary of the whole run.
  if (printed.size() < 2 || !are_in_order(printed) || steps.size() % printed.size() != 0) return 0;
  for (const RankRecord& rank : ranks) {
    if (rank.steps.size() != steps.size()) return 0;
  }
  const std::size_t each = steps.size() / printed.size();
  for (std::size_t e = 0; e < printed.size(); ++e) {
    double seconds = 0;
    for (std::size_t s = e * each; s < (e + 1) * each; ++s) seconds += steps[s].times.total_s;
    const double stated = printed[e].train_s;
    if (stated > 0 && seconds > stated * kTimeTolerance + kTimeRounding) return 0;
  }
  return each;
}

/// The epoch of the last step that began before.
int epoch_at(const RankRecord& rank, std::int64_t moment) {
  int epoch = 1;
  for (const WatchedStep& step : rank.steps) {
    if (step.times.start_ns < moment) epoch = step.times.epoch;
  }
  return epoch;
}

}  // namespace

bool number_epochs(std::vector<RankRecord>& ranks, std::span<const record::EpochResult> printed) {
  const bool known = has_numbers(ranks);
  const std::size_t each = known ? 0 : steps_of_an_epoch(ranks, printed);
  for (RankRecord& rank : ranks) {
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      int& epoch = rank.steps[s].times.epoch;
      if (epoch == 0) epoch = each > 0 ? static_cast<int>(s / each) + 1 : 1;
    }
    for (UsageSample& sample : rank.usage) {
      if (sample.epoch == 0) sample.epoch = epoch_at(rank, sample.to_ns);
    }
    if (const auto found = rank.evaluation_s.find(0); found != rank.evaluation_s.end()) {
      // Of several epochs it is not known which it belongs to.
      if (each == 0) rank.evaluation_s[1] += found->second;
      rank.evaluation_s.erase(0);
    }
  }
  return known || each > 0;
}

}  // namespace lockstep::watch
