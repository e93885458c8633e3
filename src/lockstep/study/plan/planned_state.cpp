#include "lockstep/study/plan/planned_state.h"

#include <map>
#include <set>
#include <utility>

#include "lockstep/base/digest.h"

namespace lockstep::study {
namespace {

using Key = std::pair<std::string, int>;

}  // namespace

std::vector<StoredState> planned_states(std::span<const PlannedRun> plan,
                                        std::span<const store::RunSummary> runs) {
  std::map<Key, StoredState> known;
  for (const store::RunSummary& run : runs) {
    StoredState& entry = known[{run.label.cell, run.label.repeat}];
    if (entry.state == PlannedState::kDone) continue;
    if (run.state == store::RunState::kDone) entry = {PlannedState::kDone, run.id};
    if (run.state != store::RunState::kFailed) continue;
    entry = {store::ran_out_of_memory(run) ? PlannedState::kOutOfMemory : PlannedState::kFailed,
             run.id};
  }
  std::vector<StoredState> result;
  for (const PlannedRun& planned : plan) {
    const auto found = known.find({planned.cell.name(), planned.repeat});
    result.push_back(found == known.end() ? StoredState{} : found->second);
  }
  return result;
}

bool is_beyond_reach(std::span<const PlannedRun> plan, std::span<const StoredState> states,
                     std::size_t at) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const PlannedState below = states[i].state;
    if ((below == PlannedState::kOutOfMemory || below == PlannedState::kFailed) &&
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
