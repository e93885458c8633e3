#include "lockstep/predict/scaling/scaling_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep::predict {
namespace {

TEST(ScalingSeries, SortsAndTakesTheMedianOfRepeats) {
  const ScalingSeries s =
      make_series("s", {{4, 300, 0}, {1, 100, 0}, {4, 380, 0}, {4, 340, 0}, {2, 190, 0}});
  ASSERT_EQ(s.points.size(), 3u);
  EXPECT_EQ(s.points[0].workers, 1);
  EXPECT_NEAR(s.points[2].rate, 340, 1e-9);
  EXPECT_GT(s.repeat_spread, 0.1);
}

TEST(ScalingSeries, LeavesOutWhatCannotBeAMeasurementAndSaysSo) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ScalingSeries s = make_series(
      "s", {{1, 0, 0}, {2, -5, 0}, {3, infinity, 0}, {4, std::nan(""), 0}, {0, 7, 0}, {8, 9, 0}});
  ASSERT_EQ(s.points.size(), 1u);
  EXPECT_EQ(s.points[0].workers, 8);
  EXPECT_EQ(s.notes.size(), 5u);
}

TEST(ScalingSeries, StepTimeBecomesARateByTheKindOfScaling) {
  // Weak: 4 workers finish 4 batches in 0.5 s. Strong: one global batch in 0.5 s.
  EXPECT_DOUBLE_EQ(rate_of(Metric::kStepTime, Scaling::kWeak, 4, 0.5), 8);
  EXPECT_DOUBLE_EQ(rate_of(Metric::kStepTime, Scaling::kStrong, 4, 0.5), 2);
  EXPECT_DOUBLE_EQ(rate_of(Metric::kEpochTime, Scaling::kWeak, 4, 20), 0.05);
  for (const Metric metric :
       {Metric::kThroughput, Metric::kStepTime, Metric::kEpochTime, Metric::kTotalTime}) {
    const double rate = rate_of(metric, Scaling::kWeak, 3, 7.5);
    EXPECT_NEAR(value_of(metric, Scaling::kWeak, 3, rate), 7.5, 1e-12);
    EXPECT_EQ(metric_from_name(metric_name(metric)), metric);
  }
  EXPECT_FALSE(metric_from_name("val_accuracy"));
}

}  // namespace
}  // namespace lockstep::predict
