#include "lockstep/simulate/failures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::simulate {
namespace {

constexpr double kHour = 3600;

FailingJob job_of(std::int64_t hosts) {
  FailingJob job;
  job.work_s = 500 * kHour;
  job.hosts = hosts;
  job.least_hosts = hosts;
  job.host_mttf_s = 5000 * kHour;
  job.checkpoint_s = 60;
  job.restart_s = 300;
  return job;
}

// First order: sqrt(2 C M).
TEST(Failures, DalysIntervalIsNearYoungsWhereCheckpointsAreCheap) {
  const FailingJob job = job_of(100);
  EXPECT_NEAR(daly_interval_s(job) / std::sqrt(2 * 60 * 50 * kHour), 1, 0.03);
}

TEST(Failures, SimulatedGoodputAgreesWithDaly) {
  for (const std::int64_t hosts : {100, 1000}) {
    FailingJob job = job_of(hosts);
    job.work_s = 2000 * job.mttf_s();
    const double interval = daly_interval_s(job);
    const JobOutcome outcome = simulate_job(job, interval, 1, 10);
    // The last stretch needs no checkpoint, and 20,000 failures leave a standard error of 0.7 %
    // of the time lost.
    EXPECT_NEAR(outcome.goodput, daly_goodput(job, interval), 0.003) << hosts;
  }
}

TEST(Failures, SimulatedOptimumIsNearDalys) {
  const FailingJob job = job_of(1000);
  const auto best = best_interval_s(job, 1);
  ASSERT_TRUE(best);
  // The optimum is flat: what counts is that both are as good.
  EXPECT_NEAR(daly_goodput(job, *best), daly_goodput(job, daly_interval_s(job)), 0.002);
}

TEST(Failures, AreTheSameForOneSeed) {
  const FailingJob job = job_of(500);
  EXPECT_EQ(simulate_job(job, 1800, 7).total_s.value, simulate_job(job, 1800, 7).total_s.value);
  EXPECT_NE(simulate_job(job, 1800, 7).total_s.value, simulate_job(job, 1800, 8).total_s.value);
}

TEST(Failures, GoingOnWithFewerHostsIsFasterThanWaitingForRepairs) {
  FailingJob waits = job_of(200);
  waits.repair_s = 4 * kHour;
  FailingJob goes_on = waits;
  goes_on.least_hosts = 150;
  for (int missing = 1; missing <= 50; ++missing) goes_on.speed.push_back(1 - missing / 200.0);
  const double interval = daly_interval_s(waits);
  const JobOutcome a = simulate_job(waits, interval, 1);
  const JobOutcome b = simulate_job(goes_on, interval, 1);
  EXPECT_LT(b.total_s.value, a.total_s.value);
  EXPECT_GT(a.total_s.value, waits.work_s);
}

TEST(Failures, NoFailureCostsOnlyCheckpoints) {
  FailingJob job = job_of(1);
  job.work_s = 10 * kHour;
  job.host_mttf_s = 1e15;
  const JobOutcome outcome = simulate_job(job, kHour, 1, 3);
  EXPECT_NEAR(outcome.total_s.value, 10 * kHour + 9 * 60, 1e-6);
  EXPECT_NEAR(outcome.host_seconds, outcome.total_s.value, 1e-6);
}

TEST(Failures, AJobThatCannotFinishIsNamed) {
  FailingJob job = job_of(100);
  job.host_mttf_s = 100 * 60;
  job.work_s = kHour;
  EXPECT_FALSE(simulate_job(job, kHour, 1, 3).finished);
}

TEST(Failures, WhereNoIntervalHelpsThereIsNoBestOne) {
  FailingJob job = job_of(100);
  job.host_mttf_s = 100 * kHour;
  EXPECT_TRUE(best_interval_s(job, 1));
  EXPECT_FALSE(simulate_job(job, 40 * kHour, 1, 3).finished);
  job.checkpoint_s = 100 * kHour;
  EXPECT_FALSE(best_interval_s(job, 1));
}

// Goodput does not depend on how long the job is, so a part of a very long one stands for all.
TEST(Failures, AVeryLongJobFinishes) {
  FailingJob job = job_of(1000);
  job.work_s = 1e6 * job.mttf_s();
  const double interval = daly_interval_s(job);
  const JobOutcome outcome = simulate_job(job, interval, 1, 3);
  ASSERT_TRUE(outcome.finished);
  EXPECT_NEAR(outcome.goodput, daly_goodput(job, interval), 0.003);
  EXPECT_NEAR(outcome.failures * job.mttf_s() / outcome.total_s.value, 1, 0.02);
}

// A month in checkpoints every millisecond, while hosts are missing nearly all of the time.
TEST(Failures, ShortIntervalsDuringLongRepairsTakeNoLongerToSimulate) {
  FailingJob job = job_of(64);
  job.host_mttf_s = 6250 * kHour;
  job.checkpoint_s = 1e-6;
  job.repair_s = 1000 * kHour;
  job.least_hosts = 1;
  for (int missing = 1; missing < 64; ++missing) job.speed.push_back(1 - missing / 64.0);
  const JobOutcome outcome = simulate_job(job, 1e-3, 1, 3);
  EXPECT_TRUE(outcome.finished);
  EXPECT_GT(outcome.goodput, 0.7);
  EXPECT_LT(outcome.goodput, 0.999);
}

}  // namespace
}  // namespace lockstep::simulate
