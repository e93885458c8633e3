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

}  // namespace
}  // namespace lockstep::predict
