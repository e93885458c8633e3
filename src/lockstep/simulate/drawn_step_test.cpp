#include "lockstep/simulate/drawn_step.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::simulate {
namespace {

Scenario jittery() {
  Scenario scenario;
  scenario.shape.forward_s = 0.04;
  scenario.shape.backward_s = 0.08;
  scenario.shape.buckets = plan_buckets(100e6, 25e6, 1);
  scenario.shape.hidden = 0.5;
  scenario.jitter = Jitter::stated(0.05);
  return scenario;
}

TEST(DrawnStep, HasTheFirstRanksAndTheSlowestWhichWaitsForNobody) {
  const Scenario scenario = jittery();
  const SimulatedPoint point = simulate_workers(scenario, 256, {});
  const DrawnStep step = draw_step(scenario, point, 6);
  ASSERT_GE(step.ranks.size(), 6u);
  ASSERT_LE(step.ranks.size(), 7u);
  const DrawnRank& slowest = step.ranks[step.slowest];
  EXPECT_EQ(slowest.wait_s, 0);
  for (const DrawnRank& rank : step.ranks) {
    EXPECT_LE(rank.factor, slowest.factor);
    EXPECT_NEAR(rank.factor * 0.12 + rank.wait_s, slowest.factor * 0.12, 1e-12);
  }
  ASSERT_EQ(step.buckets.size(), 4u);
  EXPECT_NEAR(step.buckets.back().end_s, slowest.factor * 0.12 + step.transfer_s, 1e-12);
}

TEST(DrawnStep, BeginsWithTheWaitForTheLoader) {
  Scenario scenario = jittery();
  const DrawnStep fed = draw_step(scenario, simulate_workers(scenario, 8, {}), 2);
  EXPECT_EQ(fed.input_s, 0);
  scenario.shape.input_s = 0.5;
  const DrawnStep starved = draw_step(scenario, simulate_workers(scenario, 8, {}), 2);
  EXPECT_GT(starved.input_s, 0.4);
  EXPECT_LT(starved.input_s, 0.5) << "the loader works while gradients travel";
  EXPECT_NEAR(starved.buckets.back().end_s, fed.buckets.back().end_s + starved.input_s, 1e-12);
}

TEST(DrawnStep, IsTheSameForTheSameSeed) {
  const Scenario scenario = jittery();
  const SimulatedPoint point = simulate_workers(scenario, 64, {});
  EXPECT_EQ(draw_step(scenario, point, 2).ranks.back().factor,
            draw_step(scenario, point, 2).ranks.back().factor);
}

}  // namespace
}  // namespace lockstep::simulate
