#include "lockstep/analyze/stability.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/analyze/quality.h"
#include "lockstep/base/rng.h"

namespace lockstep::analyze {
namespace {

std::map<int, double> curve(std::initializer_list<double> values) {
  std::map<int, double> points;
  for (double value : values) points[static_cast<int>(points.size()) + 1] = value;
  return points;
}

TEST(Stability, FindsTheFirstEpochWithinToleranceOfTheBest) {
  // Smoothed over 3: .1 .3 .5 .6333 .7 .7 .7; within .01 of .7 from epoch 5 on.
  EXPECT_EQ(epochs_to_stable(curve({.1, .3, .5, .7, .7, .7, .7}), true), 5);
}

TEST(Stability, OneGoodEpochEarlyIsNotStable) {
  // Best smoothed value is the plateau .6; the peak at epoch 2 is averaged away, the dip at 5
  // counts.
  EXPECT_EQ(epochs_to_stable(curve({.1, .7, .1, .6, .3, .6, .6, .6, .6}), true), 7);
}

TEST(Stability, CurveThatEndsFarFromItsBestIsNotStable) {
  EXPECT_FALSE(epochs_to_stable(curve({.5, .7, .7, .7, .5, .4, .3}), true).has_value());
}

TEST(Stability, LossesCountDownwardsAndRelatively) {
  // Smoothed: 4 2.3333 1.3333 1 1 1; within 5 % of 1 from epoch 4 on.
  EXPECT_EQ(epochs_to_stable(curve({4, 2, 1, 1, 1, 1}), false), 4);
}

TEST(Stability, ShortCurvesAndCurvesThatDivergedAreNotRated) {
  EXPECT_FALSE(epochs_to_stable(curve({.5, .5, .5, .5}), true).has_value());
  EXPECT_FALSE(epochs_to_stable(curve({.5, .5, .5, .5, 0.0 / 0.0}), true).has_value());
}

TEST(Stability, FromTheEpochFoundOnEverySmoothedValueIsWithinTolerance) {
  Rng rng(9);
  for (int round = 0; round < 300; ++round) {
    std::map<int, double> points;
    const int epochs = 5 + static_cast<int>(rng.below(40));
    for (int e = 1; e <= epochs; ++e) points[e] = 0.8 - 0.5 / e + 0.02 * rng.normal();
    const StabilityRule rule;
    const auto found = epochs_to_stable(points, true, rule);
    if (!found) continue;
    EXPECT_GE(*found, 1);
    EXPECT_LE(*found, epochs);
    // A wider tolerance never gives a later epoch.
    StabilityRule wide = rule;
    wide.tolerance_accuracy = 0.05;
    EXPECT_LE(*epochs_to_stable(points, true, wide), *found);
  }
}

TEST(Stability, TheRuleStatesItsNumbers) {
  EXPECT_NE(StabilityRule{}.text().find("averaged over 3 epochs"), std::string::npos);
}

TEST(Quality, TheBestIsNeverWorseThanTheLast) {
  // Three repeats of two epochs: the median of the last is 0.30, its mean 0.34.
  MeasurementRows table;
  int run = 0;
  for (const double last : {0.28, 0.30, 0.44}) {
    for (const auto& [epoch, value] : {std::pair{"1", 0.5}, std::pair{"2", last}}) {
      table.at_local(2, 32, "val_loss", value)
          .note("epoch", epoch)
          .note("run", std::to_string(run));
    }
    ++run;
  }
  const auto points = qualities(configurations(table.rows));
  ASSERT_EQ(points.size(), 1u);
  const QualityFigure* loss = points[0].figure("val_loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_DOUBLE_EQ(loss->last, 0.30);
  EXPECT_DOUBLE_EQ(loss->best.value_or(1), 0.30);
}

}  // namespace
}  // namespace lockstep::analyze
