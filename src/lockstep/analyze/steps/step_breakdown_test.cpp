#include "lockstep/analyze/steps/step_breakdown.h"

#include <gtest/gtest.h>

#include <numeric>

#include "lockstep/base/rng.h"

namespace lockstep::analyze {
namespace {

using record::Phase;
using record::StepTimes;

/// A step that takes `total_s`, of which `wait_s` for other ranks and the rest in backward.
StepTimes step_of(int rank, std::int64_t number, double total_s, double wait_s = 0,
                  std::int64_t ready_ns = 0) {
  StepTimes step;
  step.rank = rank;
  step.step = number;
  step.total_s = total_s;
  step[Phase::kWait] = wait_s;
  step[Phase::kBackward] = total_s - wait_s;
  step.ready_ns = ready_ns;
  return step;
}

TEST(StepBreakdown, GivesMeansPerStepAndSharesOfEachRank) {
  StepBreakdownBuilder builder(2);
  builder.add({{step_of(0, 0, 0.010, 0.004), step_of(1, 0, 0.010)}});
  builder.add({{step_of(0, 1, 0.020, 0.002), step_of(1, 1, 0.020)}});
  const StepBreakdown result = builder.result();
  ASSERT_EQ(result.ranks.size(), 2u);
  EXPECT_EQ(result.ranks[0].steps, 2);
  EXPECT_DOUBLE_EQ(result.ranks[0].step.count(), 0.015);
  EXPECT_DOUBLE_EQ(result.ranks[0][Phase::kWait].count(), 0.003);
  EXPECT_DOUBLE_EQ(result.ranks[0].share(Phase::kWait), 0.2);
  EXPECT_DOUBLE_EQ(result.ranks[1].share(Phase::kWait), 0);
  EXPECT_DOUBLE_EQ(result.mean[Phase::kWait].count(), 0.0015);
  EXPECT_EQ(result.warmup_steps, 0);
}

TEST(StepBreakdown, PhasesAddUpToTheStep) {
  Rng rng(5);
  StepBreakdownBuilder builder(3);
  for (int number = 0; number < 100; ++number) {
    record::StepBlock block;
    for (int rank = 0; rank < 3; ++rank) {
      StepTimes step;
      step.rank = rank;
      step.step = number;
      for (double& phase : step.phase_s) phase = rng.uniform() * 1e-3;
      step.total_s = std::accumulate(step.phase_s.begin(), step.phase_s.end(), 0.0);
      block.steps.push_back(step);
    }
    builder.add(block);
  }
  const StepBreakdown result = builder.result();
  for (const RankBreakdown* rank : {&result.ranks[0], &result.ranks[2], &result.mean}) {
    double sum = 0;
    double shares = 0;
    for (int p = 0; p < record::kPhaseCount; ++p) {
      sum += (*rank)[static_cast<Phase>(p)].count();
      shares += rank->share(static_cast<Phase>(p));
    }
    // 100 additions of values near 1e-3 round to about 1e-17.
    EXPECT_NEAR(sum, rank->step.count(), 1e-12);
    EXPECT_NEAR(shares, 1, 1e-9);
  }
}

TEST(StepBreakdown, LeavesTheFirstTenStepsOutWhereThereAreMoreThanForty) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5000}}) {
    StepBreakdownBuilder builder(1);
    for (std::int64_t i = 0; i < 40; ++i)
      builder.add({{step_of(0, first + i, i < 10 ? 1.0 : 0.1)}});
    EXPECT_EQ(builder.result().warmup_steps, 0);
    EXPECT_NEAR(builder.result().ranks[0].step.count(), 0.325, 1e-12);
    builder.add({{step_of(0, first + 40, 0.1)}});
    EXPECT_EQ(builder.result().warmup_steps, 10);
    EXPECT_EQ(builder.result().ranks[0].steps, 31);
    EXPECT_NEAR(builder.result().ranks[0].step.count(), 0.1, 1e-12);
  }
}

TEST(StepBreakdown, NamesTheRankThatKeptTheOthersWaitingAndWhatItCost) {
  StepBreakdownBuilder builder(3);
  // Rank 2 is last in three of four steps; ranks 0 and 1 wait 3 ms and 1 ms for it, 2 ms on
  // average.
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.add({{step_of(0, i, 0.010, 0.003, 1'000'000), step_of(1, i, 0.010, 0.001, 3'000'000),
                  step_of(2, i, 0.010, 0, 4'000'000)}});
  }
  builder.add({{step_of(0, 3, 0.010, 0, 5'000'000), step_of(1, 3, 0.010, 0.001, 4'000'000),
                step_of(2, 3, 0.010, 0.001, 4'000'000)}});
  const StepBreakdown result = builder.result();
  ASSERT_TRUE(result.slowest);
  EXPECT_EQ(result.slowest->rank, 2);
  EXPECT_DOUBLE_EQ(result.slowest->last_share, 0.75);
  EXPECT_DOUBLE_EQ(result.slowest->cost.count(), 3 * 0.002 / 4);
  EXPECT_DOUBLE_EQ(result.slowest->cost_share, 0.15);
}

TEST(StepBreakdown, HasNoSlowestRankWithOneWorkerAndNoRanksWithoutSteps) {
  StepBreakdownBuilder builder(1);
  EXPECT_TRUE(builder.result().ranks.empty());
  builder.add({{step_of(0, 0, 0.01)}});
  EXPECT_FALSE(builder.result().slowest);
}

TEST(StepBreakdown, DoesNotMindBlocksThatCutAStepInTwo) {
  StepBreakdownBuilder builder(2);
  builder.add({{step_of(0, 0, 0.010, 0.004, 1'000'000)}});
  EXPECT_FALSE(builder.result().slowest);
  builder.add({{step_of(1, 0, 0.010, 0, 5'000'000)}});
  ASSERT_TRUE(builder.result().slowest);
  EXPECT_EQ(builder.result().slowest->rank, 1);
}

}  // namespace
}  // namespace lockstep::analyze
