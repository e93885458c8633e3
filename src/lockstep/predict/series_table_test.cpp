#include "lockstep/predict/series_table.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::predict {
namespace {

record::Measurement row(std::int64_t workers, double value,
                        const std::string& metric = "epoch_time") {
  record::Measurement m;
  m.model = "net";
  m.device = "t4";
  m.workers = workers;
  m.metric = metric;
  m.value = value;
  return m;
}

TEST(SeriesTable, WhereBothBatchesChangeAllCountsAreOneSeriesWithTheirBatches) {
  std::vector<record::Measurement> rows;
  const std::pair<std::int64_t, double> batches[] = {{1, 32}, {2, 32}, {4, 12.5}};
  for (const auto& [workers, batch] : batches) {
    rows.push_back(row(workers, 0.5, "step_time"));
    rows.back().scaling = Scaling::kMixed;
    rows.back().batch_per_worker = batch;
  }
  const auto table = series_of(rows);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].scaling, Scaling::kMixed);
  EXPECT_FALSE(fixed_batch(table[0]));
  ASSERT_EQ(table[0].series.points.size(), 3u);
  EXPECT_EQ(table[0].series.points[2].batch, 12.5);
  // Examples per second, in which a step of another batch can be compared.
  EXPECT_DOUBLE_EQ(table[0].series.points[2].rate, 4 * 12.5 / 0.5);
}

TEST(SeriesTable, RatesOfTokensAreASeriesButNoThroughput) {
  const auto table = series_of({row(8, 16000, "tokens_per_s"), row(16, 31000, "tokens_per_s")});
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].metric, Metric::kOtherRate);
  EXPECT_EQ(table[0].series.points.back().rate, 31000);
  EXPECT_FALSE(epoch_seconds(table[0], 8, 16000, 1000));
}

TEST(SeriesTable, TimesOfWholeRunsAndOfUnstatedScalingShareTheWork) {
  EXPECT_TRUE(shares_work(series_of({row(1, 40), row(2, 22)})[0].series));
  EXPECT_TRUE(shares_work(series_of({row(1, 40, "total_time")})[0].series));
  record::Measurement stated = row(1, 40);
  stated.batch_per_worker = 32;
  EXPECT_FALSE(shares_work(series_of({stated})[0].series));
}

TEST(SeriesTable, GroupsRowsThatDifferOnlyInWorkers) {
  std::vector<record::Measurement> rows;
  for (std::int64_t batch : {32, 128}) {
    for (std::int64_t workers : {1, 2}) {
      rows.push_back(row(workers, 40.0 / static_cast<double>(workers)));
      rows.back().global_batch = batch;
    }
  }
  rows.push_back(row(1, 0.9, "val_accuracy"));
  const auto table = series_of(rows);
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].series.points.size(), 2u);
  EXPECT_EQ(table[0].scaling, Scaling::kStrong);
  EXPECT_DOUBLE_EQ(table[0].series.points[1].rate, 0.05);
  EXPECT_EQ(table[0].series.devices_per_host, 4);
}

TEST(SeriesTable, ASeriesColumnNamesTheSeries) {
  std::vector<record::Measurement> rows{row(1, 10), row(2, 6), row(1, 9)};
  rows[0].series = rows[1].series = "s1";
  rows[2].series = "s2";
  const auto table = series_of(rows, "series");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].name, "s1");
  EXPECT_THROW(series_of(rows, "absent"), Error);
}

TEST(SeriesTable, SaysWhenNothingScales) {
  EXPECT_THROW(series_of({row(1, 0.5, "val_loss")}), Error);
}

TEST(SeriesTable, AStoreAnswersForImportedRunsAsTheirTableDoes) {
  record::Measurement row;
  row.model = "net";
  row.workers = 1;
  row.metric = "total_time";
  row.value = 100;
  row.epochs = 2;
  for (const RowsFrom from : {RowsFrom::kStore, RowsFrom::kTable}) {
    EXPECT_FALSE(job_series({row}, from).front().overhead_grows);
  }
  row.strategy = "overlap";  // lockstep's own runs state it, in the store and exported
  EXPECT_TRUE(job_series({row}, RowsFrom::kStore).front().overhead_grows);
}

}  // namespace
}  // namespace lockstep::predict
