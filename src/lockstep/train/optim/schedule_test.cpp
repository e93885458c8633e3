#include "lockstep/train/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::train {
namespace {

using Shape = record::ScheduleShape;

TEST(Schedule, ConstantStaysAtOne) {
  const Schedule schedule{Shape::kConstant};
  EXPECT_EQ(schedule.factor(0, 10), 1);
  EXPECT_EQ(schedule.factor(9, 10), 1);
}

TEST(Schedule, LinearWarmsUpThenFallsInAStraightLine) {
  const Schedule schedule{Shape::kLinear, 10};
  EXPECT_DOUBLE_EQ(schedule.factor(0, 100), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(4, 100), 0.5);
  EXPECT_DOUBLE_EQ(schedule.factor(10, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(55, 100), 0.5);
  EXPECT_GT(schedule.factor(99, 100), 0);
}

TEST(Schedule, CosineIsHalfWayDownAtHalfTime) {
  const Schedule schedule{Shape::kCosine};
  EXPECT_DOUBLE_EQ(schedule.factor(0, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(50, 100), 0.5);
}

TEST(Schedule, StepFallsAtEachDropAndKeepsItsWarmUp) {
  const Schedule schedule{Shape::kStep, 10, {30, 60}, 0.5};
  EXPECT_DOUBLE_EQ(schedule.factor(0, 100), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(29, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(30, 100), 0.5);
  EXPECT_DOUBLE_EQ(schedule.factor(59, 100), 0.5);
  EXPECT_DOUBLE_EQ(schedule.factor(60, 100), 0.25);
}

TEST(Schedule, NeverLeavesTheUnitInterval) {
  for (const auto& [shape, name] : record::ChoiceTable<Shape>::kEntries) {
    for (double warmup : {0.0, 0.5, 3.0, 1000.0}) {
      for (std::int64_t total : {1, 2, 7, 1000}) {
        const Schedule schedule{shape, warmup, {2, 5}, 0.1};
        for (std::int64_t step = 0; step <= total + 3; ++step) {
          const double factor = schedule.factor(step, total);
          ASSERT_GE(factor, 0);
          ASSERT_LE(factor, 1);
        }
      }
    }
  }
}

TEST(Plateau, FallsOnceTheLossHasStoppedToFallForLongerThanPatience) {
  Plateau plateau(0.5, 2);
  for (double loss : {1.0, 0.9, 0.95, 0.91}) plateau.observe(loss);
  EXPECT_EQ(plateau.factor(), 1);
  plateau.observe(0.92);
  EXPECT_EQ(plateau.factor(), 0.5);
  for (double loss : {0.8, 0.81, 0.82}) plateau.observe(loss);
  EXPECT_EQ(plateau.factor(), 0.5);
  plateau.observe(std::nan(""));
  EXPECT_EQ(plateau.factor(), 0.25);
}

TEST(Plateau, TakesAChangeInTheLastDigitsForNoProgress) {
  Plateau plateau(0.1, 0);
  plateau.observe(1);
  plateau.observe(0.99999);
  EXPECT_EQ(plateau.factor(), 0.1);
}

TEST(Plateau, ContinuesFromItsFiguresAsIfNothingHadHappened) {
  const double losses[] = {2, 1.5, 1.6, 1.7, 1.4, 1.5, 1.5, 1.5, 1.5, 1.5};
  for (std::size_t cut = 0; cut < std::size(losses); ++cut) {
    Plateau whole(0.5, 1), first(0.5, 1), second(0.5, 1);
    for (std::size_t i = 0; i < std::size(losses); ++i) {
      whole.observe(losses[i]);
      if (i == cut) second.restore(first.figures());
      (i < cut ? first : second).observe(losses[i]);
    }
    EXPECT_EQ(second.factor(), whole.factor());
    EXPECT_EQ(second.figures(), whole.figures());
  }
}

TEST(BatchScale, FollowsTheNamedRule) {
  EXPECT_DOUBLE_EQ(batch_scale(record::RateScaling::kLinear, 2048, 128), 16);
  EXPECT_DOUBLE_EQ(batch_scale(record::RateScaling::kSqrt, 2048, 128), 4);
  EXPECT_DOUBLE_EQ(batch_scale(record::RateScaling::kNone, 2048, 128), 1);
}

}  // namespace
}  // namespace lockstep::train
