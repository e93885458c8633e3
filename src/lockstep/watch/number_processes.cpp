#include "lockstep/watch/number_processes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace lockstep::watch {
namespace {

/// Of the steps of each of two processes: how many lie within the time of the other.
constexpr double kTogether = 0.5;

/// On the wall clock, which all processes share.
std::int64_t start_of(const RankRecord& record, const WatchedStep& step) {
  return step.times.start_ns + record.wall_minus_monotonic_ns;
}

bool lies_within(const RankRecord& inner, const RankRecord& outer) {
  const std::int64_t from = start_of(outer, outer.steps.front());
  const std::int64_t to = start_of(outer, outer.steps.back());
  const auto inside =
      std::count_if(inner.steps.begin(), inner.steps.end(), [&](const WatchedStep& step) {
        return start_of(inner, step) >= from && start_of(inner, step) <= to;
      });
  return static_cast<double>(inside) >= kTogether * static_cast<double>(inner.steps.size());
}

}  // namespace

void number_processes(std::vector<RankRecord>& records) {
  if (records.size() < 2) return;
  const RankRecord& first = records.front();
  for (const RankRecord& record : records) {
    if (record.rank != 0 || record.world != 1 || record.steps.empty()) return;
    if (!lies_within(record, first) || !lies_within(first, record)) return;
  }
  std::sort(records.begin(), records.end(), [](const RankRecord& a, const RankRecord& b) {
    return std::tie(a.host, a.pid) < std::tie(b.host, b.pid);
  });
  int rank = 0;
  for (RankRecord& record : records) {
    record.rank = rank++;
    record.world = static_cast<int>(records.size());
    for (WatchedStep& step : record.steps) step.times.rank = record.rank;
  }
}

}  // namespace lockstep::watch
