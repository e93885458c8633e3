#include "lockstep/study/plan/planned_state.h"

#include <gtest/gtest.h>

namespace lockstep::study {
namespace {

std::vector<PlannedRun> small_plan() {
  Sweep sweep;
  sweep.workers = {1, 2};
  sweep.batches = {32};
  sweep.strategies = {record::Strategy::kOverlap};
  sweep.repeats = 2;
  return plan_runs(sweep);
}

store::RunSummary stored(std::int64_t id, const PlannedRun& planned, store::RunState state) {
  store::RunSummary run;
  run.id = id;
  run.label.cell = planned.cell.name();
  run.label.repeat = planned.repeat;
  run.state = state;
  return run;
}

TEST(PlannedState, OnlyFinishedAndFailedRunsAreClosed) {
  using store::RunState;
  const auto plan = small_plan();
  const std::vector<store::RunSummary> runs{
      stored(1, plan[0], RunState::kDone), stored(2, plan[1], RunState::kKilled),
      stored(3, plan[2], RunState::kInterrupted), stored(4, plan[3], RunState::kFailed)};
  const auto state = planned_states(plan, runs);
  EXPECT_EQ(state[0].state, PlannedState::kDone);
  EXPECT_EQ(state[0].run, 1);
  EXPECT_EQ(state[1].state, PlannedState::kOpen);
  EXPECT_EQ(state[2].state, PlannedState::kOpen);
  EXPECT_EQ(state[3].state, PlannedState::kFailed);
}

TEST(PlannedState, ARunThatIsDoneStaysDone) {
  const auto plan = small_plan();
  const std::vector<store::RunSummary> runs{stored(1, plan[0], store::RunState::kFailed),
                                            stored(2, plan[0], store::RunState::kDone),
                                            stored(3, plan[0], store::RunState::kFailed)};
  EXPECT_EQ(planned_states(plan, runs)[0].state, PlannedState::kDone);
  EXPECT_EQ(planned_states(plan, runs)[0].run, 2);
}

TEST(PlannedState, OutOfMemoryIsAResultAndEndsItsLadder) {
  Sweep sweep;
  sweep.workers = {1, 2};
  sweep.strategies = {record::Strategy::kOverlap};
  sweep.ladder = {32, 4, 512};
  const auto plan = plan_runs(sweep);
  std::vector<store::RunSummary> runs;
  for (const PlannedRun& planned : plan) {
    if (planned.cell.workers != 2 || planned.cell.batch_per_worker != 128) continue;
    runs.push_back(stored(1, planned, store::RunState::kFailed));
    runs.back().error_kind = "memory";
  }
  const auto state = planned_states(plan, runs);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const bool above = plan[i].cell.workers == 2 && plan[i].cell.batch_per_worker > 128;
    EXPECT_EQ(is_beyond_reach(plan, state, i), above);
    const bool failed = plan[i].cell.workers == 2 && plan[i].cell.batch_per_worker == 128;
    EXPECT_EQ(state[i].state, failed ? PlannedState::kOutOfMemory : PlannedState::kOpen);
  }
}

TEST(PlannedState, CountsFinishedRunsOfAnotherGrid) {
  const auto plan = small_plan();
  PlannedRun other = plan[0];
  other.repeat = 7;
  const std::vector<store::RunSummary> runs{stored(1, plan[0], store::RunState::kDone),
                                            stored(2, other, store::RunState::kDone),
                                            stored(3, other, store::RunState::kFailed)};
  EXPECT_EQ(unplanned_runs(plan, runs), 1);
}

TEST(PlannedState, LocksStudiesApartAndAboveRuns) {
  EXPECT_NE(lock_position("a"), lock_position("b"));
  EXPECT_GT(lock_position("a"), std::int64_t{1} << 59);
}

}  // namespace
}  // namespace lockstep::study
