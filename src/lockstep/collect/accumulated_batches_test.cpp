#include "lockstep/collect/accumulated_batches.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/speedup/speedup.h"

namespace lockstep::collect {
namespace {

using record::Measurement;

Measurement rate(std::int64_t workers, double batch, int micro, double value) {
  Measurement row;
  row.model = "gpt";
  row.device = "cpu";
  row.workers = workers;
  row.batch_per_worker = batch;
  row.global_batch = workers * static_cast<std::int64_t>(batch) * micro;
  row.metric = "throughput";
  row.unit = "1/s";
  row.value = value;
  if (micro > 1) row.notes["accumulate"] = std::to_string(micro);
  return row;
}

TEST(AccumulatedBatches, OfOneGlobalBatchAreOneSeriesWithSpeedups) {
  std::vector<Measurement> rows{rate(1, 4, 4, 100), rate(2, 4, 2, 180), rate(4, 4, 1, 300)};
  join_accumulated(rows);
  EXPECT_EQ(rows[0].batch_per_worker, 16);
  EXPECT_EQ(rows[2].batch_per_worker, 4);
  const auto groups = analyze::speedups(analyze::configurations(rows), {});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scaling, record::Scaling::kStrong);
  ASSERT_EQ(groups[0].points.size(), 3u);
  EXPECT_DOUBLE_EQ(*groups[0].points[2].speedup, 3);
  ASSERT_EQ(groups[0].remarks.size(), 1u);
  EXPECT_EQ(groups[0].remarks[0],
            "gradients are accumulated to keep B (4 micro-steps at N = 1, 2 at N = 2, 1 at N = 4): "
            "b is what a worker computes per step");
}

TEST(AccumulatedBatches, ThatWereVariedOnOneWorkerCountStaySettings) {
  std::vector<Measurement> rows{rate(1, 4, 1, 100), rate(1, 4, 2, 110), rate(2, 4, 1, 180),
                                rate(1, 2, 4, 90)};
  const auto before = rows[1].batch_per_worker;
  join_accumulated(rows);
  EXPECT_EQ(rows[1].batch_per_worker, before);
  EXPECT_EQ(rows[1].notes.at("accumulate"), "2");
}

TEST(AccumulatedBatches, OfEqualLengthAtEveryCountStayAsTheyAre) {
  std::vector<Measurement> rows{rate(1, 4, 2, 100), rate(2, 4, 2, 180)};
  join_accumulated(rows);
  EXPECT_EQ(rows[0].batch_per_worker, 4);
  EXPECT_EQ(rows[1].batch_per_worker, 4);
}

}  // namespace
}  // namespace lockstep::collect
