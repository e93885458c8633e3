#include "lockstep/analyze/series.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/measurement_rows.h"

namespace lockstep::analyze {
namespace {

SeriesKey key_of(const std::string& device, double batch, Scaling scaling = Scaling::kStrong) {
  SeriesKey key;
  key.device = device;
  key.scaling = scaling;
  key.batch = batch;
  return key;
}

TEST(SeriesLabels, LeaveOutWhatAllHaveInCommon) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(short_labels(std::vector{key_of("v100", 32), key_of("v100", 64)}),
            (Labels{"B = 32", "B = 64"}));
  EXPECT_EQ(short_labels(std::vector{key_of("v100", 0.5, Scaling::kWeak)}),
            (Labels{"v100, b = 0.5"}));
  EXPECT_EQ(short_labels(std::vector{key_of("a", 1), key_of("b", 1), key_of("b", 1)}),
            (Labels{"a", "b", "b (2)"}));
}

/// Runs of our own give both batches: the longer series decides.
TEST(ScalingRule, TakesTheBatchThatMakesTheLongerSeries) {
  MeasurementRows strong;
  for (const std::int64_t workers : {1, 2, 4}) {
    strong.at_global(workers, 512, "epoch_time", 10);
    strong.rows.back().batch_per_worker = 512.0 / static_cast<double>(workers);
  }
  const auto configured = configurations(strong.rows);
  const ScalingRule rule(configured);
  EXPECT_EQ(rule.of(configured[0]), Scaling::kStrong);
  EXPECT_EQ(rule.key(configured[0]), rule.key(configured[2]));
  EXPECT_EQ(rule.key(configured[0]).batch_text(), "B = 512");
  EXPECT_EQ(ScalingRule(configured, Scaling::kWeak).of(configured[0]), Scaling::kWeak);
}

/// Tables often give one batch only, and not the one that they fix.
TEST(ScalingRule, TakesTheOtherBatchWhereOnlyThatMakesASeries) {
  MeasurementRows weak;
  for (const std::int64_t workers : {8, 16, 32})
    weak.at_global(workers, 64 * workers, "step_time", 1);
  auto configured = configurations(weak.rows);
  EXPECT_EQ(ScalingRule(configured).key(configured[0]).batch_text(), "b = 64");
  EXPECT_EQ(ScalingRule(configured).key(configured[0]), ScalingRule(configured).key(configured[2]));
  MeasurementRows strong;
  for (const std::int64_t workers : {1, 2, 4})
    strong.at_local(workers, 128 / workers, "step_time", 1);
  configured = configurations(strong.rows);
  EXPECT_EQ(ScalingRule(configured).key(configured[0]).batch_text(), "B = 128");
  // A single count of several batches shows neither.
  MeasurementRows batches;
  for (const std::int64_t batch : {64, 128}) batches.at_global(2, batch, "step_time", 1);
  configured = configurations(batches.rows);
  EXPECT_EQ(ScalingRule(configured).of(configured[0]), Scaling::kStrong);
}

TEST(ScalingRule, FollowsWhatTheTableStates) {
  MeasurementRows rows;
  rows.at_local(1, 32, "epoch_time", 10).note("scaling", "strong");
  rows.at_local(2, 16, "epoch_time", 6).note("scaling", "strong");
  const auto configured = configurations(rows.rows);
  EXPECT_EQ(ScalingRule(configured).key(configured[0]), ScalingRule(configured).key(configured[1]));
}

/// A host that divides its cores among its workers makes one series; a study of threads several.
TEST(SeriesKey, ThreadsSeparateSeriesOnlyWhereOneCountRanWithSeveral) {
  MeasurementRows divided;
  divided.at_local(1, 32, "epoch_time", 10).note("threads_per_worker", "2");
  divided.at_local(2, 32, "epoch_time", 6).note("threads_per_worker", "1");
  auto configured = configurations(divided.rows);
  EXPECT_EQ(ScalingRule(configured).key(configured[0]), ScalingRule(configured).key(configured[1]));
  divided.at_local(1, 32, "epoch_time", 14).note("threads_per_worker", "1");
  configured = configurations(divided.rows);
  ASSERT_EQ(configured.size(), 3u);
  EXPECT_EQ(configured[0].variant, "threads_per_worker=1");
}

}  // namespace
}  // namespace lockstep::analyze
