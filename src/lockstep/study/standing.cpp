#include "lockstep/study/standing.h"

#include <map>
#include <set>
#include <utility>

#include "lockstep/base/digest.h"

namespace lockstep::study {
namespace {

using Key = std::pair<std::string, int>;

}  // namespace

std::vector<RunStanding> standings(std::span<const PlannedRun> plan,
                                   std::span<const store::RunSummary> runs) {
  std::map<Key, RunStanding> known;
  for (const store::RunSummary& run : runs) {
    RunStanding& entry = known[{run.label.cell, run.label.repeat}];
    if (entry.standing == Standing::kDone) continue;
    if (run.state == store::RunState::kDone) entry = {Standing::kDone, run.id};
    if (run.state != store::RunState::kFailed) continue;
    entry = {store::ran_out_of_memory(run) ? Standing::kOutOfMemory : Standing::kFailed, run.id};
  }
  std::vector<RunStanding> result;
  for (const PlannedRun& planned : plan) {
    const auto found = known.find({planned.cell.name(), planned.repeat});
    result.push_back(found == known.end() ? RunStanding{} : found->second);
  }
  return result;
}

bool is_beyond_reach(std::span<const PlannedRun> plan, std::span<const RunStanding> standings,
                     std::size_t at) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Standing below = standings[i].standing;
    if ((below == Standing::kOutOfMemory || below == Standing::kFailed) &&
        is_rung_below(plan[i], plan[at])) {
      return true;
    }
  }
  return false;
}

std::int64_t unplanned_runs(std::span<const PlannedRun> plan,
                            std::span<const store::RunSummary> runs) {
  std::set<Key> planned;
  for (const PlannedRun& run : plan) planned.insert({run.cell.name(), run.repeat});
  std::int64_t others = 0;
  for (const store::RunSummary& run : runs) {
    others += run.state == store::RunState::kDone &&
              !planned.contains({run.label.cell, run.label.repeat});
  }
  return others;
}

std::int64_t lock_position(const std::string& study) {
  constexpr std::int64_t kAboveRuns = std::int64_t{1} << 60;
  const std::uint64_t name = digest(std::as_bytes(std::span(study)));
  return kAboveRuns + static_cast<std::int64_t>(name % (std::uint64_t{1} << 60));
}

}  // namespace lockstep::study
