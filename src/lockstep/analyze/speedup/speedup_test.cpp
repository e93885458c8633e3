#include "lockstep/analyze/speedup/speedup.h"

#include <gtest/gtest.h>

#include <map>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::analyze {
namespace {

std::vector<SpeedupGroup> groups_of(const MeasurementRows& table,
                                    const SpeedupOptions& options = {}) {
  return speedups(configurations(table.rows), options);
}

const SpeedupPoint& point(const SpeedupGroup& group, std::int64_t workers, std::int64_t global) {
  for (const SpeedupPoint& entry : group.points) {
    if (entry.configuration.workers == workers && entry.configuration.global_batch == global) {
      return entry;
    }
  }
  throw Error(ErrorKind::kInternal, "no such point");
}

bool mentions(const std::vector<std::string>& sentences, const std::string& text) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
    return sentence.find(text) != std::string::npos;
  });
}

TEST(Speedup, StrongScalingComparesTheSameGlobalBatch) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 38).at_global(2, 32, "epoch_time", 67);
  table.at_global(1, 64, "epoch_time", 16).at_global(2, 64, "epoch_time", 10);
  const auto groups = groups_of(table);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scaling, Scaling::kStrong);
  EXPECT_EQ(groups[0].baseline_workers, 1);
  const SpeedupPoint& slow = point(groups[0], 2, 32);
  EXPECT_DOUBLE_EQ(*slow.speedup, 38.0 / 67);
  EXPECT_DOUBLE_EQ(*slow.efficiency, 38.0 / 67 / 2);
  EXPECT_DOUBLE_EQ(*slow.scaled, 2 * 38.0 / 67);
  EXPECT_EQ(slow.configuration.batch_per_worker, 16);
  EXPECT_DOUBLE_EQ(*slow.examples_per_s, 1000.0 / 67);
  EXPECT_DOUBLE_EQ(*point(groups[0], 2, 64).speedup, 1.6);
}

TEST(Speedup, ABatchThatMayBeOfOneWorkerOrOfAllComparesEpochsOfTheSameOne) {
  MeasurementRows table;
  // On one worker it is both, so sources may have it as either.
  table.at_stated(1, 32, "epoch_time", 40).at_local(1, 64, "epoch_time", 30);
  table.at_stated(2, 32, "epoch_time", 25).at_stated(2, 64, "epoch_time", 20);
  const auto groups = groups_of(table);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scaling, Scaling::kUnstated);
  std::map<std::int64_t, double> speedups;
  for (const SpeedupPoint& entry : groups[0].points) {
    if (entry.configuration.workers != 2) continue;
    EXPECT_FALSE(entry.configuration.global_batch);
    speedups[*entry.configuration.stated_batch] = *entry.speedup;
  }
  EXPECT_EQ(speedups, (std::map<std::int64_t, double>{{32, 40.0 / 25}, {64, 30.0 / 20}}));
  EXPECT_TRUE(mentions(groups[0].remarks, "these speedups are the same for both"));
}

TEST(Speedup, StepTimesOfABatchThatMayBeOfOneWorkerOrOfAllAreNotCompared) {
  MeasurementRows table;
  table.at_stated(1, 32, "step_time", 0.1).at_stated(2, 32, "step_time", 0.06);
  const auto groups = groups_of(table);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_FALSE(groups[0].has_speedups());
  EXPECT_TRUE(mentions(groups[0].refusals, "--set batch_of=worker"));
}

TEST(Speedup, NamesAConfigurationOfUnknownWorkersAndDeviceByItsBatch) {
  MeasurementRows table;
  table.device.clear();
  table.at_local(1, 32, "epoch_time", 38).at_local(2, 32, "epoch_time", 20);
  table.at_local(4, 32, "epoch_time", 11);
  table.rows.back().workers.reset();
  const auto configured = configurations(table.rows);
  EXPECT_TRUE(std::any_of(configured.begin(), configured.end(),
                          [](const Configuration& c) { return c.label() == "b = 32"; }));
}

TEST(Speedup, WeakScalingComparesTheSameBatchPerWorker) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 20).at_local(4, 32, "epoch_time", 5);
  const auto groups = groups_of(table);
  EXPECT_EQ(groups.at(0).scaling, Scaling::kWeak);
  EXPECT_DOUBLE_EQ(*point(groups[0], 4, 128).speedup, 4);
  EXPECT_DOUBLE_EQ(*point(groups[0], 4, 128).scaled, 4);
}

TEST(Speedup, IsTheSameFromEpochTimeThroughputAndStepTime) {
  Rng rng(21);
  for (int round = 0; round < 50; ++round) {
    const double one = 1 + 50 * rng.uniform();
    const double four = 1 + 50 * rng.uniform();
    MeasurementRows times, rates, steps;
    times.at_local(1, 10, "epoch_time", one).at_local(4, 10, "epoch_time", four);
    rates.at_local(1, 10, "throughput", 1000 / one).at_local(4, 10, "throughput", 1000 / four);
    // 1000 examples are 100 steps of 10 and 25 steps of 40.
    steps.at_local(1, 10, "step_time", one / 100).at_local(4, 10, "step_time", four / 25);
    for (const MeasurementRows& table : {times, rates, steps}) {
      const auto groups = groups_of(table);
      EXPECT_NEAR(*point(groups.at(0), 4, 40).speedup, one / four, 1e-9);
      EXPECT_NEAR(*point(groups.at(0), 4, 40).time_s, four, 1e-9);
    }
  }
}

TEST(Speedup, RepeatsGiveMedianSpreadAndCount) {
  MeasurementRows table;
  for (const double time : {10.0, 11.0, 30.0}) table.at_global(1, 32, "epoch_time", time);
  table.at_global(2, 32, "epoch_time", 5.5);
  const auto groups = groups_of(table);
  EXPECT_DOUBLE_EQ(*point(groups.at(0), 2, 32).speedup, 2);
  EXPECT_EQ(point(groups[0], 1, 32).count, 3u);
  EXPECT_GT(point(groups[0], 1, 32).deviation, 10);
}

TEST(Speedup, WarmUpEpochsDoNotCount) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 100).note("epoch", "1").note("warm_up", "yes");
  table.at_global(1, 32, "epoch_time", 10).note("epoch", "2");
  table.at_global(1, 32, "epoch_time", 12).note("epoch", "3");
  EXPECT_DOUBLE_EQ(groups_of(table).at(0).points.at(0).value, 11);
}

TEST(Speedup, WithoutOneWorkerTheBaselineIsNamed) {
  MeasurementRows table;
  table.at_local(2, 32, "epoch_time", 209).at_local(4, 32, "epoch_time", 81);
  const auto groups = groups_of(table);
  EXPECT_EQ(groups.at(0).baseline_workers, 2);
  EXPECT_NEAR(*point(groups[0], 4, 128).efficiency, 209.0 / 81 / 2, 1e-12);
  EXPECT_TRUE(mentions(groups[0].remarks, "no run on 1 worker"));
}

TEST(Speedup, MixedBaselinesAreRefused) {
  MeasurementRows table;
  for (const int batch : {32, 64}) {
    table.at_global(1, batch, "epoch_time", 20).at_global(2, batch, "epoch_time", 10);
  }
  table.at_global(2, 128, "epoch_time", 9).at_global(4, 128, "epoch_time", 5);
  const auto groups = groups_of(table);
  EXPECT_FALSE(point(groups.at(0), 4, 128).speedup.has_value());
  EXPECT_TRUE(mentions(groups[0].refusals, "B = 128 has no run on 1 worker:"));
  EXPECT_TRUE(point(groups[0], 2, 64).speedup.has_value());
}

TEST(Speedup, UnknownBatchesCompareTimesForTheSameData) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 20).at_global(2, 32, "epoch_time", 10);
  for (auto& row : table.rows) row.global_batch.reset();
  const auto groups = groups_of(table);
  EXPECT_EQ(groups.at(0).scaling, Scaling::kUnstated);
  EXPECT_DOUBLE_EQ(*groups[0].points.at(1).speedup, 2);
  EXPECT_TRUE(mentions(groups[0].remarks, "no batch is known"));
  for (auto& row : table.rows) row.metric = "step_time";
  EXPECT_FALSE(groups_of(table).at(0).has_speedups());
}

TEST(Speedup, RatesWithoutBatchesAreOfTheScalingThatTheUserStates) {
  MeasurementRows table;
  for (const std::int64_t workers : {1, 2, 4}) {
    record::Measurement row;
    row.model = "net";
    row.workers = workers;
    row.metric = "throughput";
    row.value = workers == 1 ? 100 : workers == 2 ? 190 : 360;
    table.rows.push_back(row);
  }
  EXPECT_EQ(groups_of(table).at(0).scaling, Scaling::kUnstated);
  const auto groups = groups_of(table, {.scaling = Scaling::kWeak});
  EXPECT_EQ(groups.at(0).scaling, Scaling::kWeak);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_DOUBLE_EQ(groups[0].points.back().speedup.value_or(0), 3.6);
  EXPECT_TRUE(mentions(groups[0].remarks, "as stated"));
  for (record::Measurement& row : table.rows) row.metric = "step_time";
  EXPECT_FALSE(groups_of(table, {.scaling = Scaling::kWeak}).at(0).has_speedups());
}

TEST(Speedup, DevicesModelsAndSettingsAreNeverMixed) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 20);
  table.device = "other";
  table.at_global(2, 32, "epoch_time", 10);
  table.model = "big";
  table.at_global(4, 32, "epoch_time", 10);
  EXPECT_EQ(groups_of(table).size(), 3u);
  for (const auto& group : groups_of(table)) EXPECT_FALSE(group.has_speedups());
}

TEST(Speedup, ReportsWhyTwoConfigurationsAreUnlike) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 20);
  table.device = "v100";
  table.at_global(2, 32, "epoch_time", 10);
  const auto c = configurations(table.rows);
  EXPECT_EQ(unlike(c[0], c[1], Scaling::kStrong), "different devices (gpu and v100)");
  Configuration other = c[0];
  other.global_batch = 64;
  EXPECT_EQ(unlike(c[0], other, Scaling::kStrong), "different global batches (32 and 64)");
  other = c[0];
  other.dataset = "";
  EXPECT_EQ(unlike(c[0], other, Scaling::kStrong), "different data sets (data and unknown)");
  EXPECT_EQ(unlike(c[0], c[0], Scaling::kStrong), std::nullopt);
}

TEST(Speedup, RatesOfOtherWorkAreComparedInTheirUnit) {
  MeasurementRows table;
  for (const int workers : {1, 2, 4}) {
    table.at_local(workers, 8, "tokens_per_s", 1000 * workers - 50 * (workers - 1));
    if (workers > 1) table.at_local(workers, 8, "TFLOP_per_s", 30 * workers);
  }
  const auto groups = groups_of(table);
  ASSERT_EQ(groups.size(), 1u);
  const SpeedupPoint& four = groups[0].points.back();
  EXPECT_DOUBLE_EQ(four.speedup.value(), 3.85);
  EXPECT_EQ(four.configuration.rate_unit(), "tokens/s");
  EXPECT_FALSE(four.time_s.has_value());  // 1000 examples per epoch are not 1000 tokens
}

TEST(Speedup, RatesOfExamplesComeBeforeOthers) {
  MeasurementRows table;
  table.at_local(1, 8, "throughput", 10).at_local(1, 8, "tokens_per_s", 1000);
  table.at_local(2, 8, "throughput", 16).at_local(2, 8, "tokens_per_s", 2000);
  const auto groups = groups_of(table);
  EXPECT_DOUBLE_EQ(groups.at(0).points.back().speedup.value(), 1.6);
  EXPECT_EQ(groups[0].points.back().configuration.rate_unit(), "examples/s");
}

TEST(Speedup, EpochsThatASamplerFillsUpAreComparedByRate) {
  MeasurementRows table;
  table.examples = 480;
  table.at_global(1, 64, "epoch_time", 48);
  table.examples = 512;
  table.at_global(2, 64, "epoch_time", 32);
  auto groups = groups_of(table);
  EXPECT_DOUBLE_EQ(point(groups.at(0), 2, 64).speedup.value(), 1.6);
  EXPECT_TRUE(mentions(groups[0].remarks, "480 examples at N = 1 and 512 at N = 2"));
  table.examples = 576;  // a whole batch more is other data
  table.at_global(4, 64, "epoch_time", 16);
  groups = groups_of(table);
  EXPECT_FALSE(point(groups.at(0), 4, 64).speedup.has_value());
  EXPECT_TRUE(mentions(groups[0].refusals, "different numbers of examples"));
}

TEST(Speedup, PointsWithoutTheCommonMetricAreLeftOutWithAReason) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 20).at_global(2, 32, "epoch_time", 10);
  table.at_global(4, 32, "total_time", 99);
  const auto groups = groups_of(table);
  EXPECT_EQ(groups.at(0).points.size(), 2u);
  EXPECT_TRUE(mentions(groups[0].refusals, "it has no epoch_time"));
}

TEST(Speedup, BaselineThatWasNotMeasuredIsAUsageError) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 20).at_global(2, 32, "epoch_time", 10);
  EXPECT_THROW(groups_of(table, {.baseline_workers = 8}), Error);
  EXPECT_DOUBLE_EQ(*point(groups_of(table, {.baseline_workers = 2}).at(0), 1, 32).speedup, 0.5);
}

TEST(Speedup, ThreadsThatDifferAreRemarkedOn) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 20).note("threads_per_worker", "2");
  table.at_local(2, 32, "epoch_time", 15).note("threads_per_worker", "1");
  const auto groups = groups_of(table);
  ASSERT_TRUE(groups.at(0).has_speedups());
  EXPECT_TRUE(mentions(groups[0].remarks, "threads per worker differ (2 at N = 1, 1 at N = 2)"));
}

TEST(Speedup, EpochTimesOfRunsOfDifferentLengthMayBeComparedButTotalsMayNot) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 20).at_local(2, 32, "epoch_time", 10);
  table.rows[0].epochs = 3;
  table.rows[1].epochs = 5;
  EXPECT_DOUBLE_EQ(*point(groups_of(table).at(0), 2, 64).speedup, 2);
  for (auto& row : table.rows) row.metric = "total_time";
  EXPECT_EQ(groups_of(table).size(), 2u);
}

TEST(Speedup, OfSeveralBaselinesTheOneOfTheSameLengthIsTaken) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 20).at_local(1, 32, "epoch_time", 24);
  table.at_local(2, 32, "epoch_time", 12);
  table.rows[0].epochs = 1;
  table.rows[1].epochs = 5;
  table.rows[2].epochs = 5;
  EXPECT_DOUBLE_EQ(*point(groups_of(table).at(0), 2, 64).speedup, 2);
}

TEST(Speedup, NotesThatAllRowsShareDoNotSetThemApart) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 20).note("strategy", "overlap");
  table.at_local(2, 32, "epoch_time", 12).note("strategy", "overlap");
  EXPECT_EQ(groups_of(table).at(0).variant, "");
  table.at_local(2, 32, "epoch_time", 15).note("strategy", "blocking");
  EXPECT_EQ(groups_of(table).size(), 2u);
}

TEST(Speedup, CountsOnDifferentDevicesAreNotComparedAndBothAreNamed) {
  MeasurementRows table;
  table.device = "t4";
  table.at_local(1, 32, "epoch_time", 80);
  table.device = "v100";
  table.at_local(4, 32, "epoch_time", 20);
  const auto groups = speedups(configurations(table.rows));
  ASSERT_EQ(groups.size(), 2u);
  for (const SpeedupGroup& group : groups) {
    EXPECT_FALSE(group.has_speedups());
    ASSERT_EQ(group.refusals.size(), 1u);
    EXPECT_NE(group.refusals[0].find("different devices ("), std::string::npos)
        << group.refusals[0];
  }
}

TEST(Speedup, OfMixedScalingComparesAllBatchesOfOneSeries) {
  MeasurementRows rows;
  rows.at_local(8, 4, "throughput", 100).note("scaling", "mixed");
  rows.at_local(16, 2, "throughput", 180).note("scaling", "mixed");
  rows.at_local(32, 2, "throughput", 350).note("scaling", "mixed");
  const auto groups = groups_of(rows);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scaling, Scaling::kMixed);
  ASSERT_EQ(groups[0].points.size(), 3u);
  EXPECT_NEAR(*groups[0].points[2].speedup, 3.5, 1e-12);
  EXPECT_NEAR(*groups[0].points[2].efficiency, 0.875, 1e-12);
  EXPECT_TRUE(groups[0].refusals.empty());
  ASSERT_FALSE(groups[0].remarks.empty());
  EXPECT_NE(groups[0].remarks.front().find("both batches change"), std::string::npos);
}

TEST(Speedup, RowsOfMixedScalingStayApartFromThoseOfOneBatch) {
  MeasurementRows rows;
  rows.at_local(1, 4, "throughput", 10).note("scaling", "weak");
  rows.at_local(2, 4, "throughput", 19).note("scaling", "weak");
  rows.at_local(8, 4, "throughput", 70).note("scaling", "mixed");
  rows.at_local(16, 2, "throughput", 120).note("scaling", "mixed");
  const auto groups = groups_of(rows);
  ASSERT_EQ(groups.size(), 2u);
  for (const auto& group : groups) EXPECT_EQ(group.points.size(), 2u);
}

}  // namespace
}  // namespace lockstep::analyze
