#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/store/store.h"
#include "lockstep/study/plan/sweep.h"

namespace lockstep::study {

/// The state of a planned run in the store.
enum class PlannedState {
  kOpen,         ///< not begun, or interrupted or killed before its end
  kDone,         ///< a finished run of it is kept
  kFailed,       ///< it was tried and failed
  kOutOfMemory,  ///< it does not fit: a result
};

struct StoredState {
  PlannedState state = PlannedState::kOpen;
  std::int64_t run = 0;  ///< its id in the store; 0 when open
};

/// The state of each run of the plan, given the runs of the study in the store, oldest first. A run
/// that is done once stays done, even if it was tried again.
std::vector<StoredState> planned_states(std::span<const PlannedRun> plan,
                                        std::span<const store::RunSummary> runs);

/// Whether the run at `at` need not be tried: a smaller batch of its ladder did not fit, or failed.
bool is_beyond_reach(std::span<const PlannedRun> plan, std::span<const StoredState> states,
                     std::size_t at);

/// Finished runs of the study that are none of the plan's: another grid under the same name.
std::int64_t unplanned_runs(std::span<const PlannedRun> plan,
                            std::span<const store::RunSummary> runs);

/// Where a study that is under way is locked among the writers of a store (store/writer_lock.h):
/// far above every run's id.
std::int64_t lock_position(const std::string& study);

}  // namespace lockstep::study
