#include "lockstep/watch/join_energy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lockstep/base/units.h"

namespace lockstep::watch {
namespace {

/// Joules counted up to moments of the common clock.
using Counter = std::vector<std::pair<std::int64_t, double>>;

double joules_at(const Counter& counter, std::int64_t moment) {
  const auto after =
      std::lower_bound(counter.begin(), counter.end(), moment,
                       [](const auto& sample, std::int64_t when) { return sample.first < when; });
  if (after == counter.begin()) return counter.front().second;
  if (after == counter.end()) return counter.back().second;
  const auto& before = *std::prev(after);
  const double share = static_cast<double>(moment - before.first) /
                       static_cast<double>(std::max<std::int64_t>(1, after->first - before.first));
  return before.second + share * (after->second - before.second);
}

/// Empty where a reading is missing.
Counter counter_of(const RankRecord& rank, std::optional<double> EnergySample::*joules) {
  Counter counter;
  for (const EnergySample& sample : rank.energy) {
    if (sample.*joules) counter.emplace_back(sample.at_ns, *(sample.*joules));
  }
  return counter.size() < 2 ? Counter{} : counter;
}

std::string problem_of(const RankRecord& rank) {
  for (const EnergySample& sample : rank.energy) {
    if (!sample.problem.empty()) return fmt::format("{}: {}", rank.host, sample.problem);
  }
  return fmt::format("{}: the run was too short for two readings", rank.host);
}

/// One rank per host reads its processors: the one that did so for longest.
std::map<std::string, const RankRecord*> readers(const std::vector<RankRecord>& ranks) {
  std::map<std::string, const RankRecord*> found;
  for (const RankRecord& rank : ranks) {
    const RankRecord*& reader = found[rank.host];
    if (reader == nullptr || rank.energy.size() > reader->energy.size()) reader = &rank;
  }
  return found;
}

/// Adds the counters of all hosts. Returns why one has none; empty if all have.
std::string add_processors(const std::vector<RankRecord>& ranks, std::vector<Counter>& counters) {
  std::vector<Counter> hosts;
  for (const auto& [host, reader] : readers(ranks)) {
    Counter counter = counter_of(*reader, &EnergySample::processors_j);
    if (counter.empty()) return problem_of(*reader);
    hosts.push_back(std::move(counter));
  }
  std::move(hosts.begin(), hosts.end(), std::back_inserter(counters));
  return "";
}

/// Adds one counter per GPU. Returns the first rank without one; -1 if all have.
int add_gpus(const std::vector<RankRecord>& ranks, std::vector<Counter>& counters) {
  std::map<std::string, Counter> gpus;  // two ranks may share a GPU
  for (const RankRecord& rank : ranks) {
    Counter counter = counter_of(rank, &EnergySample::gpu_j);
    if (counter.empty() || rank.devices > 1) return rank.rank;
    const auto last = std::find_if(rank.energy.rbegin(), rank.energy.rend(),
                                   [](const EnergySample& one) { return one.gpu_j.has_value(); });
    gpus.try_emplace(last->gpu, std::move(counter));
  }
  for (auto& [uuid, counter] : gpus) counters.push_back(std::move(counter));
  return -1;
}

}  // namespace

RunEnergy join_energy(const std::vector<RankRecord>& ranks,
                      std::span<const record::StepTimes> steps) {
  RunEnergy energy;
  if (ranks.empty() || steps.empty()) return energy;
  const bool on_gpus = std::any_of(ranks.begin(), ranks.end(), [](const RankRecord& rank) {
    return !rank.device.starts_with("cpu");
  });
  std::vector<Counter> counters;
  const std::string problem = add_processors(ranks, counters);
  const std::size_t hosts = counters.size();
  if (!on_gpus && !problem.empty()) {
    energy.source = "not measured: " + problem;
    return energy;
  }
  if (on_gpus) {
    if (const int rank = add_gpus(ranks, counters); rank >= 0) {
      energy.source = fmt::format("not measured: rank {} cannot read the energy of its GPU", rank);
      return energy;
    }
  }
  std::vector<std::string> parts;
  if (problem.empty()) {
    parts.push_back(fmt::format("RAPL of {}, from the import of PyTorch on",
                                counted(static_cast<std::int64_t>(hosts), "host")));
  }
  if (on_gpus) {
    parts.push_back(
        fmt::format("NVML: {}, from the first step on",
                    counted(static_cast<std::int64_t>(counters.size() - hosts), "GPU")));
    if (!problem.empty()) parts.push_back("without processors: " + problem);
  }
  energy.source = fmt::format("{}", fmt::join(parts, "; "));
  energy.total_j = 0;
  for (const Counter& counter : counters) {
    energy.total_j += counter.back().second - counter.front().second;
  }
  std::map<int, std::pair<std::int64_t, std::int64_t>> spans;
  for (const record::StepTimes& step : steps) {
    const std::int64_t end = step.start_ns + std::llround(step.total_s * 1e9);
    auto& span = spans.try_emplace(step.epoch, step.start_ns, end).first->second;
    span.first = std::min(span.first, step.start_ns);
    span.second = std::max(span.second, end);
  }
  for (const auto& [epoch, span] : spans) {
    for (const Counter& counter : counters) {
      energy.epochs_j[epoch] += joules_at(counter, span.second) - joules_at(counter, span.first);
    }
  }
  return energy;
}

}  // namespace lockstep::watch
