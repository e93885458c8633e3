#include "lockstep/train/schedule.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::train {
namespace {

TEST(Schedule, ConstantStaysAtOne) {
  const auto schedule = schedule_from_name("constant", 0);
  EXPECT_EQ(schedule.factor(0, 10), 1);
  EXPECT_EQ(schedule.factor(9, 10), 1);
}

TEST(Schedule, LinearWarmsUpThenFallsInAStraightLine) {
  const auto schedule = schedule_from_name("linear", 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(0, 100), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(4, 100), 0.5);
  EXPECT_DOUBLE_EQ(schedule.factor(10, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(55, 100), 0.5);
  EXPECT_GT(schedule.factor(99, 100), 0);
}

TEST(Schedule, CosineIsHalfWayDownAtHalfTime) {
  const auto schedule = schedule_from_name("cosine", 0);
  EXPECT_DOUBLE_EQ(schedule.factor(0, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(50, 100), 0.5);
}

TEST(Schedule, NeverLeavesTheUnitInterval) {
  for (const char* name : {"constant", "linear", "cosine"}) {
    for (double warmup : {0.0, 0.05, 0.5, 1.0}) {
      for (std::int64_t total : {1, 2, 7, 1000}) {
        for (std::int64_t step = 0; step <= total + 3; ++step) {
          const double factor = schedule_from_name(name, warmup).factor(step, total);
          ASSERT_GE(factor, 0);
          ASSERT_LE(factor, 1);
        }
      }
    }
  }
}

TEST(Schedule, NamesTheChoicesWhenAskedForAnother) {
  EXPECT_THROW(schedule_from_name("zigzag", 0), Error);
}

}  // namespace
}  // namespace lockstep::train
