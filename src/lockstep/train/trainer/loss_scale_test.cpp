#include "lockstep/train/trainer/loss_scale.h"

#include <gtest/gtest.h>

namespace lockstep::train {
namespace {

TEST(LossScale, HalvesAtAnOverflowAndDoublesAfterManyStepsWithout) {
  LossScale scale;
  const double first = scale.value();
  scale.observe(true);
  EXPECT_EQ(scale.value(), first / 2);
  for (int step = 0; step < 1999; ++step) scale.observe(false);
  EXPECT_EQ(scale.value(), first / 2);
  scale.observe(false);
  EXPECT_EQ(scale.value(), first);
}

TEST(LossScale, NeverFallsBelowOne) {
  LossScale scale;
  for (int step = 0; step < 100; ++step) scale.observe(true);
  EXPECT_EQ(scale.value(), 1);
}

TEST(LossScale, GoesOnFromACheckpoint) {
  LossScale scale, resumed;
  scale.observe(true);
  for (int step = 0; step < 1500; ++step) scale.observe(false);
  resumed.restore(scale.figures());
  for (int step = 0; step < 500; ++step) resumed.observe(false);
  EXPECT_EQ(resumed.value(), 2 * scale.value());
}

}  // namespace
}  // namespace lockstep::train
