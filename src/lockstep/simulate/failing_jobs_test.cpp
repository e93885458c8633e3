#include "lockstep/simulate/failing_jobs.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

SimulatedScaling sixteen_workers_on_two_hosts() {
  Scenario scenario;
  scenario.shape.forward_s = 0.04;
  scenario.shape.backward_s = 0.08;
  scenario.shape.batch_per_worker = 64;
  scenario.shape.buckets = plan_buckets(100e6, 25e6, 1);
  scenario.cluster.per_host = 8;
  return simulate_scaling(scenario, {16}, {});
}

// 90 epochs of a million examples; 16 workers fail 16 times as often as one.
TEST(FailingJobs, TakeTheLengthOfTheJobFromItsEpochs) {
  const SimulatedScaling scaling = sixteen_workers_on_two_hosts();
  FailureSettings settings;
  settings.mttf = "1600h";
  settings.epochs = 90;
  settings.examples = 1e6;
  settings.price = 2;
  const auto jobs = forecast_jobs(scaling, {}, settings, {});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_NEAR(jobs[0].job.work_s, 90e6 / scaling.points[0].examples_per_s->value, 1e-6);
  EXPECT_NEAR(jobs[0].job.mttf_s(), 100 * 3600, 1e-6);
  EXPECT_EQ(jobs[0].job.checkpoint_s, 60);
  EXPECT_EQ(jobs[0].price_per_host_hour, 16);
  EXPECT_FALSE(jobs[0].goes_on);
}

TEST(FailingJobs, GoOnWithFewerHostsAtTheirSpeed) {
  FailureSettings settings;
  settings.mttf = "1600h";
  settings.work = "30d";
  settings.repair = "10h";
  settings.min_workers = 8;
  const auto jobs = forecast_jobs(sixteen_workers_on_two_hosts(), {}, settings, {});
  ASSERT_TRUE(jobs[0].goes_on);
  EXPECT_GT(jobs[0].goes_on->goodput, jobs[0].waits.goodput);
}

TEST(FailingJobs, AreRefusedWhereASettingWouldHaveNoEffect) {
  const SimulatedScaling scaling = sixteen_workers_on_two_hosts();
  FailureSettings settings;
  EXPECT_TRUE(forecast_jobs(scaling, {}, settings, {}).empty());
  settings.restart = "1min";
  EXPECT_THROW(forecast_jobs(scaling, {}, settings, {}), Error);
  settings.mttf = "1600h";
  EXPECT_THROW(forecast_jobs(scaling, {}, settings, {}), Error) << "no length";
  settings.work = "1d";
  settings.min_workers = 8;
  EXPECT_THROW(forecast_jobs(scaling, {}, settings, {}), Error) << "a spare stands by";
  settings.repair = "1h";
  settings.min_workers = 32;
  EXPECT_THROW(forecast_jobs(scaling, {}, settings, {}), Error) << "more than there are";
}

}  // namespace
}  // namespace lockstep::simulate
