#include "lockstep/predict/phases/known_traffic.h"

#include <gtest/gtest.h>

#include "lockstep/predict/job_prediction.h"

namespace lockstep::predict {
namespace {

/// b = 100 per worker; one step takes 100 ms on one worker.
TableSeries one_count(double workers, double step_s) {
  TableSeries table;
  table.name = table.model = "net";
  table.batch_per_worker = 100;
  table.series = make_series("net", {{workers, 100 * workers / step_s, 0}}, 8);
  return table;
}

TEST(KnownTraffic, NoStepIsShorterThanItsCommunication) {
  // A ring over 4 workers sends 1.5 S: 150 MB at 500 MB/s take 300 ms, so at most 1333 examples/s.
  JobQuestion question{.workers = 4};
  question.traffic = KnownTraffic{100e6, 0, 500e6};
  const JobPrediction job = predict_job(one_count(1, 0.1), question);
  EXPECT_NEAR(job.throughput->high, 400 / 0.3, 1e-6);
  EXPECT_LE(job.throughput->value, job.throughput->high);
  EXPECT_LE(job.throughput->low, job.throughput->value);
  EXPECT_NE(job.scaling.width.front().find("take 300 ms per step"), std::string::npos)
      << job.scaling.width.front();
}

TEST(KnownTraffic, MoreGradientsMakeTheSameCountSlower) {
  double before = 1e300;
  for (const double bytes : {1e5, 1e7, 1e8, 1e9}) {
    JobQuestion question{.workers = 8};
    question.traffic = KnownTraffic{bytes, 1e-5, 1e9};
    const double rate = predict_job(one_count(1, 0.1), question).throughput->value;
    EXPECT_LT(rate, before) << bytes;
    before = rate;
  }
}

TEST(KnownTraffic, PhasesOfOneCountShowWhatOneWorkerTakes) {
  TableSeries table = one_count(4, 0.1);
  const Estimate unknown = *predict_job(table, {.workers = 8}).throughput;
  table.phases = {{.workers = 4, .compute_s = 0.06, .exposed_s = 0.04}};
  const JobPrediction job = predict_job(table, {.workers = 8});
  // 40 % of the step is communication: more is lost further on than in series of which nothing is
  // known.
  EXPECT_LT(job.throughput->value, unknown.value);
  EXPECT_NE(job.scaling.width.front().find("40.0 %"), std::string::npos);
  table.phases = {{.workers = 4, .compute_s = 0.0999, .exposed_s = 0.0001}};
  const Estimate free = *predict_job(table, {.workers = 8}).throughput;
  EXPECT_GT(free.value, job.throughput->value);
  EXPECT_LT(free.high / free.low, unknown.high / unknown.low);
}

TEST(KnownTraffic, LeavesMeasuredCountsAsTheyAre) {
  TableSeries table = one_count(4, 0.1);
  table.phases = {{.workers = 4, .compute_s = 0.06, .exposed_s = 0.04}};
  JobQuestion question{.workers = 4};
  question.traffic = KnownTraffic{1e9, 0, 1e6};
  const JobPrediction job = predict_job(table, question);
  EXPECT_TRUE(job.scaling.measured);
  EXPECT_NEAR(job.throughput->value, 4000, 1e-9);
}

}  // namespace
}  // namespace lockstep::predict
