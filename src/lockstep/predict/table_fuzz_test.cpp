#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/predict/devices/batch_transfer.h"
#include "lockstep/predict/job_prediction.h"

namespace lockstep::predict {
namespace {

double odd_value(Rng& rng) {
  switch (rng.below(12)) {
    case 0:
      return 0;
    case 1:
      return -5;
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
      return std::numeric_limits<double>::infinity();
    case 4:
      return 1e300;
    case 5:
      return 1e-300;
    default:
      return std::exp(3 * rng.normal());
  }
}

std::vector<record::Measurement> random_table(Rng& rng) {
  static const char* metrics[] = {"throughput", "epoch_time",   "step_time",
                                  "total_time", "compute_time", "val_accuracy"};
  std::vector<record::Measurement> rows;
  const auto count = 1 + rng.below(12);
  const auto kind = rng.below(4);                  // not stated, or one of the three
  const auto first = rng.below(4) == 0 ? 256 : 1;  // some series begin at a large count
  for (std::uint64_t i = 0; i < count; ++i) {
    record::Measurement row;
    row.model = "net";
    row.device = rng.below(3) == 0 ? "cpu" : "t4";
    if (rng.below(10) != 0) row.workers = static_cast<std::int64_t>(first * (1 + rng.below(20)));
    if (rng.below(3) != 0) row.batch_per_worker = static_cast<double>(32 << rng.below(2));
    if (rng.below(6) == 0) row.batch_per_worker = 0.25 + 3 * rng.uniform();
    if (rng.below(3) == 0) row.global_batch = static_cast<std::int64_t>(64 << rng.below(2));
    if (rng.below(2) == 0) row.examples = static_cast<std::int64_t>(1 + rng.below(100'000));
    if (rng.below(2) == 0) row.epochs = static_cast<std::int64_t>(1 + rng.below(3) * 9);
    if (kind != 0) row.scaling = static_cast<record::Scaling>(kind - 1);
    if (rng.below(3) == 0) row.nodes = static_cast<std::int64_t>(1 + rng.below(4));
    row.metric = metrics[rng.below(6)];
    row.value = rng.below(3) == 0 ? odd_value(rng) : 1 + 100 * rng.uniform();
    rows.push_back(row);
  }
  return rows;
}

void expect_ordered(const Estimate& x, const char* what) {
  EXPECT_TRUE(std::isfinite(x.value) && std::isfinite(x.low) && std::isfinite(x.high)) << what;
  EXPECT_GE(x.low, 0) << what;
  EXPECT_LE(x.low, x.value * (1 + 1e-12)) << what;
  EXPECT_LE(x.value, x.high * (1 + 1e-12)) << what;
}

void expect_sane_job(const JobPrediction& job) {
  expect_ordered(job.metric, "metric");
  if (job.epoch_s) expect_ordered(*job.epoch_s, "epoch");
  if (job.total_s) expect_ordered(*job.total_s, "total");
  if (job.throughput) expect_ordered(*job.throughput, "throughput");
  expect_ordered(*job.speedup, "speedup");
  expect_ordered(*job.efficiency, "efficiency");
  if (job.parts) expect_ordered(job.parts->exposed_s, "exposed");
  EXPECT_FALSE(job.scaling.width.empty());
}

/// A table that somebody might really have measured: counts that start at 1, 8 or 256, efficiency
/// that falls, stays or rises (super-linear pairs), repeats of one count, fractional batches, rates
/// of any unit, both batches changing, phases beside the totals.
std::vector<record::Measurement> plausible_table(Rng& rng) {
  static const char* rates[] = {"throughput", "tokens_per_s", "steps_per_s", "tflop_per_s"};
  static const std::int64_t starts[] = {1, 1, 2, 8, 256};
  const std::int64_t first = starts[rng.below(5)];
  const auto count = 1 + rng.below(6);
  const auto kind = static_cast<record::Scaling>(rng.below(3));
  const bool repeated = rng.below(4) == 0;
  const bool step_times = rng.below(3) == 0;
  const std::string metric = step_times ? "step_time" : rates[rng.below(4)];
  const double batch = rng.below(3) == 0 ? 0.125 : static_cast<double>(1 << rng.below(9));
  const double loss = -0.1 + 0.5 * rng.uniform();  // per doubling; below 0 it is super-linear
  std::vector<record::Measurement> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    record::Measurement row;
    row.model = "net";
    row.device = rng.below(2) == 0 ? "A100 (8/node)" : "cpu";
    row.device = rows.empty() ? row.device : rows.front().device;
    row.workers = repeated ? first : first << i;
    const auto n = static_cast<double>(*row.workers);
    const double doublings = std::log2(n / static_cast<double>(first));
    row.scaling = kind;
    row.batch_per_worker = kind == record::Scaling::kWeak     ? batch
                           : kind == record::Scaling::kStrong ? 4096 / n
                                                              : 1 + 31 * rng.uniform();
    const double rate = 100 * n * std::exp(-loss * doublings + 0.02 * rng.normal());
    row.metric = metric;
    row.value = step_times ? n * *row.batch_per_worker / rate : rate;
    rows.push_back(row);
    if (step_times && rng.below(2) == 0) {
      row.metric = "compute_time";
      row.value *= 0.7;
      rows.push_back(row);
      row.metric = "sync_time";
      row.value *= 0.3;
      rows.push_back(row);
    }
  }
  return rows;
}

/// Nothing that a reader would laugh at: within a factor of 12 per doubling of the last rate below,
/// of at most half more than the best efficiency seen, and an interval that is not everything.
void expect_plausible(const TableSeries& table, const JobQuestion& question,
                      const JobPrediction& job) {
  const ScalingPrediction& p = job.scaling;
  const ScalingPoint& last = table.series.points.back();
  double best = 0;
  for (const ScalingPoint& point : table.series.points) {
    best = std::max(best, point.rate / point.workers);
  }
  const double doublings = std::fabs(std::log2(question.workers / last.workers));
  const double gain = table.scaling == Scaling::kMixed ? 3 : 1.5;
  EXPECT_LE(p.rate / p.workers, gain * best * std::exp2(doublings > 0 && !p.measured ? 1 : 0));
  if (question.traffic) return;  // a slow link may leave as little as it likes
  EXPECT_GE(p.rate, last.rate * std::exp(-2.5 * std::max(1.0, doublings)));
  if (question.workers > last.workers) {
    EXPECT_LT(p.high / p.low, 100 * std::exp2(2 * doublings));
    EXPECT_GT(p.high / p.low, 1.005);
  }
}

TEST(TableFuzz, PlausibleTablesOfEveryKindGivePlausibleNumbers) {
  Rng rng(12);
  int predicted = 0;
  for (int round = 0; round < 3000 && !::testing::Test::HasFailure(); ++round) {
    const auto rows = plausible_table(rng);
    JobQuestion question;
    question.workers =
        static_cast<double>(*rows.back().workers) * static_cast<double>(1 + rng.below(8));
    if (rng.below(4) == 0) question.workers = 1 + static_cast<double>(rng.below(2048));
    if (rng.below(3) == 0) question.batch = 1 + 31 * rng.uniform();
    if (rng.below(3) == 0) question.traffic = KnownTraffic{1e6 + 1e9 * rng.uniform(), 1e-5, 1e9};
    for (const TableSeries& table : most_direct(series_of(rows))) {
      const JobPrediction job = predict_job(table, question);
      expect_sane_job(job);
      expect_plausible(table, question, job);
      ++predicted;
    }
    EXPECT_FALSE(::testing::Test::HasFailure())
        << "round " << round << ", " << rows.size() << " rows, " << question.workers << " workers";
  }
  EXPECT_GE(predicted, 3000);
}

TEST(TableFuzz, WhateverATableHoldsThereIsAnOrderedIntervalOrASentence) {
  Rng rng(11);
  int predicted = 0;
  for (int round = 0; round < 3000 && !::testing::Test::HasFailure(); ++round) {
    const auto rows = random_table(rng);
    JobQuestion question;
    question.workers = 1 + static_cast<double>(rng.below(64));
    if (rng.below(4) == 0) question.workers *= 256;
    if (rng.below(4) == 0) question.batch = 0.5 + 64 * rng.uniform();
    if (rng.below(2) == 0) question.epochs = static_cast<std::int64_t>(1 + rng.below(100));
    try {
      for (const TableSeries& table : most_direct(series_of(rows))) {
        try {
          expect_sane_job(predict_job(table, question));
          ++predicted;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()), "");
        }
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
    }
    EXPECT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(predicted, 1000);
}

}  // namespace
}  // namespace lockstep::predict
