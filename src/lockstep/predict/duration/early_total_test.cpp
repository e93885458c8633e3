#include "lockstep/predict/duration/early_total.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/rng.h"

namespace lockstep::predict {
namespace {

/// A synthetic run: `warm_up` slow steps, then steady ones with noise.
std::vector<double> synthetic_steps(std::int64_t count, std::int64_t warm_up, double slowdown,
                                    double noise, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    const double base = i < warm_up ? 0.1 * slowdown : 0.1;
    steps.push_back(base * std::exp(noise * rng.normal()));
  }
  return steps;
}

TEST(EarlyTotal, SaysNothingBeforeTheTwelfthStep) {
  EarlyTotal early(1000);
  for (int i = 0; i < 11; ++i) early.add(0.1);
  EXPECT_FALSE(early.total());
  early.add(0.1);
  EXPECT_TRUE(early.total());
}

TEST(EarlyTotal, TellsWarmUpFromSteadyState) {
  EarlyTotal early(2000);
  for (double step : synthetic_steps(60, 10, 6, 0.01, 1)) early.add(step);
  EXPECT_NEAR(static_cast<double>(early.warm_up_steps()), 10, 1);
  // 10 steps of 0.6 s and 1990 of 0.1 s; the naive 2000 x mean would say 367 s.
  EXPECT_NEAR(early.total()->value, 10 * 0.6 + 1990 * 0.1, 3);
}

TEST(EarlyTotal, IntervalsOfSyntheticRunsHoldTheTotal) {
  for (const std::int64_t seen : {12, 50, 400}) {
    int held = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const auto steps = synthetic_steps(2000, seed % 5, 4, 0.15, seed);
      EarlyTotal early(2000);
      double actual = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (static_cast<std::int64_t>(i) < seen) early.add(steps[i]);
        actual += steps[i];
      }
      held += early.total()->low <= actual && actual <= early.total()->high;
    }
    EXPECT_GE(held, 170) << seen;
  }
}

TEST(EarlyTotal, IntervalsHoldWhenOtherWorkComesAndGoes) {
  // Neighbours change the pace every 60 steps: the error of the mean knows nothing of that.
  for (const std::int64_t seen : {100, 400}) {
    int held = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      Rng rng(seed, 2);
      EarlyTotal early(2000);
      double actual = 0;
      double pace = 1;
      for (std::int64_t i = 0; i < 2000; ++i) {
        if (i % 60 == 0) pace = std::exp(0.3 * rng.normal());
        const double step = 0.1 * pace * std::exp(0.1 * rng.normal());
        if (i < seen) early.add(step);
        actual += step;
      }
      held += early.total()->low <= actual && actual <= early.total()->high;
    }
    EXPECT_GE(held, 165) << seen;
  }
}

TEST(EarlyTotal, IntervalShrinksToNothingAtTheEnd) {
  EarlyTotal early(500);
  double last = 1e9;
  const auto steps = synthetic_steps(500, 5, 3, 0.1, 4);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    early.add(steps[i]);
    if (i == 49 || i == 249 || i == 499) {
      const double width = early.total()->high - early.total()->low;
      EXPECT_LT(width, last);
      last = width;
    }
  }
  EXPECT_NEAR(early.total()->value, early.elapsed_s(), 1e-9);
  EXPECT_EQ(last, 0);
}

TEST(EarlyTotal, LongRunsKeepBoundedMemoryAndTheRightMean) {
  EarlyTotal early(1'000'000);
  for (int i = 0; i < 200'000; ++i) early.add(i % 100 == 0 ? 0.2 : 0.1);
  EXPECT_NEAR(*early.steady_step_s(), 0.101, 0.0005);
  EXPECT_EQ(early.steps(), 200'000);
}

TEST(EarlyTotal, IgnoresWhatCannotBeAStepAndMoreStepsThanPlanned) {
  EarlyTotal early(10);
  early.add(-1);
  early.add(std::nan(""));
  EXPECT_EQ(early.steps(), 0);
  for (int i = 0; i < 20; ++i) early.add(1);
  EXPECT_DOUBLE_EQ(early.total()->value, 20);
}

TEST(EarlyTotal, OneEpochOfTheGanStudyPredictsItsTwentyWithinTheInterval) {
  // First epoch and 20 epochs in seconds: 2 CPUs, 16 CPUs, T4, V100.
  const double study[4][2] = {{1486.7, 30522.1}, {499.8, 10313.0}, {86.5, 1528.2}, {33.4, 556.6}};
  for (const auto& [first, total] : study) {
    const FirstEpoch where = first > 100 ? FirstEpoch::kOnHost : FirstEpoch::kOnDevice;
    for (const FirstEpoch known : {where, FirstEpoch::kUnknown}) {
      const Estimate estimate = total_from_first_epoch({first, first, first}, 20, known);
      EXPECT_LT(estimate.low, total);
      EXPECT_GT(estimate.high, total);
      EXPECT_NEAR(estimate.value / total, 1, 0.13);
    }
  }
}

TEST(EarlyTotal, StepsThatComeInHandfulsCountAsManyAsTheyAre) {
  EarlyTotal early(1000);
  early.add(6.0, 20);  // warm-up: 0.3 s a step
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(early.total()) << i;
    early.add(2.0, 20);
  }
  for (int i = 0; i < 6; ++i) early.add(2.0, 20);
  EXPECT_EQ(early.steps(), 200);
  EXPECT_EQ(early.warm_up_steps(), 20);
  EXPECT_NEAR(early.total()->value, 6 + 98, 1e-9);
}

}  // namespace
}  // namespace lockstep::predict
