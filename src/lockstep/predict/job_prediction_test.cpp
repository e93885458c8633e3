#include "lockstep/predict/job_prediction.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/predict/devices/batch_transfer.h"

namespace lockstep::predict {
namespace {

TableSeries throughput_series(std::vector<ScalingPoint> points) {
  TableSeries table;
  table.name = table.model = "net";
  table.series = make_series("net", points, 8);
  return table;
}

TEST(JobPrediction, ThroughputBecomesEpochAndTotalTime) {
  TableSeries table = throughput_series({{1, 1000, 0}, {2, 1900, 0}, {4, 3600, 0}});
  table.examples = 36'000;
  JobQuestion question;
  question.workers = 4;
  question.epochs = 10;
  const JobPrediction job = predict_job(table, question);
  EXPECT_NEAR(job.epoch_s->value, 10, 1e-9);
  EXPECT_NEAR(job.total_s->value, 100, 1e-9);
  EXPECT_NEAR(job.speedup->value, 3.6, 1e-9);
  EXPECT_NEAR(job.efficiency->value, 0.9, 1e-9);
  EXPECT_LT(job.epoch_s->low, 10);
  EXPECT_GT(job.epoch_s->high, 10);
}

TEST(JobPrediction, SaysWhatTheTableDoesNotTell) {
  const JobPrediction job = predict_job(throughput_series({{2, 1900, 0}}), {.workers = 4});
  EXPECT_FALSE(job.epoch_s);
  EXPECT_FALSE(job.total_s);
  EXPECT_EQ(job.unknowns.size(), 2u);
}

TEST(JobPrediction, SixteenWorkersOfTheTransferStudyHaveAnInterval) {
  // Epoch times of a 257-class transfer study: 80 s on 4 and 44 s on 8 V100 (b = 32).
  TableSeries table;
  table.metric = Metric::kEpochTime;
  table.series = make_series("b", {{4, 1 / 80.0, 0}, {8, 1 / 44.0, 0}}, 8);
  table.epochs = 30;
  const JobPrediction job = predict_job(table, {.workers = 16});
  EXPECT_GT(job.epoch_s->value, 22);
  EXPECT_LT(job.epoch_s->value, 36);
  EXPECT_LT(job.epoch_s->low, job.epoch_s->value);
  EXPECT_FALSE(job.scaling.unknowns.empty());
}

TEST(BatchTransfer, InterpolatesStepTimeInTheBatch) {
  // Step time 10 ms + 0.1 ms b, plus 5 ms on two workers.
  std::vector<TableSeries> measured;
  for (std::int64_t b : {32, 128}) {
    const double step = 0.010 + 0.0001 * static_cast<double>(b);
    const auto batch = static_cast<double>(b);
    measured.push_back(
        throughput_series({{1, batch / step, 0}, {2, 2 * batch / (step + 0.005), 0}}));
    measured.back().batch_per_worker = b;
    measured.back().phases = {{1, step, 0, 0, 0}};
  }
  const TableSeries at64 = series_at_batch(measured, 64).front();
  ASSERT_EQ(at64.series.points.size(), 2u);
  EXPECT_NEAR(at64.series.points[0].rate, 64 / 0.0164, 1e-6);
  EXPECT_NEAR(at64.series.points[1].rate, 128 / 0.0214, 1e-6);
  const JobPrediction job = predict_job(at64, {.workers = 2});
  EXPECT_TRUE(job.derived);
  EXPECT_FALSE(job.parts) << "phases of another batch";
  EXPECT_GT(series_at_batch(measured, 1024).front().series.repeat_spread,
            at64.series.repeat_spread);
}

TEST(BatchTransfer, OneBatchIsNotEnough) {
  TableSeries one = throughput_series({{1, 100, 0}});
  one.batch_per_worker = 32;
  EXPECT_THROW(series_at_batch({one}, 64), Error);
  // Nor are the same batch on two devices, or one on each.
  TableSeries other = throughput_series({{1, 50, 0}});
  other.batch_per_worker = 32;
  one.name = "net, t4, b 32";
  other.name = "net, v100, b 32";
  EXPECT_THROW(series_at_batch({one, other}, 64), Error);
  other.name = "net, v100, b 128";
  other.batch_per_worker = 128;
  EXPECT_THROW(series_at_batch({one, other}, 64), Error);
}

}  // namespace
}  // namespace lockstep::predict
