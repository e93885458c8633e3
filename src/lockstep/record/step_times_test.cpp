#include "lockstep/record/step_times.h"

#include <gtest/gtest.h>

namespace lockstep::record {
namespace {

StepTimes rank_ready_at(std::int64_t ready_ns, double exposed_s) {
  StepTimes step;
  step.ready_ns = ready_ns;
  step[Phase::kTransfer] = exposed_s;
  return step;
}

TEST(StepTimes, SplitsExposedCommunicationAtTheSlowestRanksReadyTime) {
  // Rank 0 is ready at 1 ms and done at 6 ms, rank 1 ready at 4 ms and done at 6 ms.
  std::array<StepTimes, 2> ranks{rank_ready_at(1'000'000, 0.005), rank_ready_at(4'000'000, 0.002)};
  split_exposed(ranks);
  EXPECT_DOUBLE_EQ(ranks[0][Phase::kWait], 0.003);
  EXPECT_DOUBLE_EQ(ranks[0][Phase::kTransfer], 0.002);
  EXPECT_DOUBLE_EQ(ranks[1][Phase::kWait], 0);
  EXPECT_DOUBLE_EQ(ranks[1][Phase::kTransfer], 0.002);
}

TEST(StepTimes, NeverWaitsLongerThanItWasExposed) {
  std::array<StepTimes, 2> ranks{rank_ready_at(1'000'000, 0.001), rank_ready_at(9'000'000, 0.002)};
  split_exposed(ranks);
  EXPECT_DOUBLE_EQ(ranks[0][Phase::kWait], 0.001);
  EXPECT_DOUBLE_EQ(ranks[0][Phase::kTransfer], 0);
}

}  // namespace
}  // namespace lockstep::record
