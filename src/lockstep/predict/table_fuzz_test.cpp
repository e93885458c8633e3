#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/predict/batch_transfer.h"
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
