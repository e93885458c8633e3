#include "lockstep/watch/watched_events.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::watch {
namespace {

WatchedRun run_of(std::int64_t steps, std::int64_t batch) {
  WatchedRun run;
  run.workers = 1;
  run.hosts = {"a"};
  run.batch_per_worker = batch;
  for (std::int64_t s = 0; s < steps; ++s) {
    record::StepTimes step;
    step.step = s;
    step.epoch = s < steps / 2 ? 1 : 2;
    step.examples = batch;
    step.total_s = 0.1;
    run.steps.push_back(step);
  }
  for (int e = 1; e <= 2; ++e) {
    record::EpochResult epoch;
    epoch.epoch = e;
    epoch.train_s = 0.05 * static_cast<double>(steps);
    epoch.examples = batch * steps / 2;
    run.epochs.push_back(epoch);
  }
  return run;
}

TEST(WatchedEvents, ComeInTheOrderOfARecord) {
  const auto list = events(run_of(3000, 32), {});
  ASSERT_EQ(list.size(), 5u);  // 1024 + 1024 + 952 steps, two epochs
  EXPECT_EQ(std::get<record::StepBlock>(list[2]).steps.size(), 952u);
  EXPECT_EQ(std::get<record::EpochResult>(list[4]).epoch, 2);
}

TEST(WatchedEvents, TakeOutcomesFromTheOutputAndTimesFromTheWatcher) {
  std::vector<record::EpochResult> reported(2);
  reported[1].val_accuracy = 0.9;
  reported[1].train_s = 77;
  const auto list = events(run_of(10, 32), reported);
  const auto& last = std::get<record::EpochResult>(list.back());
  EXPECT_EQ(last.val_accuracy, 0.9);
  EXPECT_DOUBLE_EQ(last.train_s, 0.5);
}

TEST(WatchedEvents, CountStepsWhereEpochsAreUnknown) {
  WatchedRun run = run_of(10, 32);
  run.epochs.resize(1);
  run.epochs_known = false;
  record::RunStarted started;
  started.spec.epochs = 0;
  describe(run, started);
  EXPECT_EQ(started.spec.epochs, 0);
  EXPECT_EQ(started.spec.max_steps, 10) << "no time of an epoch follows from this run";
  EXPECT_EQ(started.spec.data.train_examples, 0);
}

TEST(WatchedEvents, TakeNoOutcomesWhereTheNumberOfEpochsDiffers) {
  std::vector<record::EpochResult> reported(3);
  reported[1].val_accuracy = 0.9;
  const auto list = events(run_of(10, 32), reported);
  EXPECT_TRUE(std::isnan(std::get<record::EpochResult>(list.back()).val_accuracy));
}

TEST(WatchedEvents, DescribeTheRunByWhatWasSeen) {
  record::RunStarted started;
  started.spec.batch_per_worker = 0;
  started.spec.epochs = 7;  // of the plan, which the script ignored
  started.spec.device = "";
  WatchedRun run = run_of(10, 32);
  run.device = "cpu";
  run.threads_per_worker = 2;
  describe(run, started);
  EXPECT_EQ(started.spec.batch_per_worker, 32);
  EXPECT_EQ(started.spec.epochs, 2);
  EXPECT_EQ(started.spec.device, "cpu");
  EXPECT_EQ(started.spec.data.train_examples, 160);
  EXPECT_EQ(started.steps_per_epoch, 5);
}

TEST(WatchedEvents, TakeTheBatchOfTheLoaderWhereTheScriptIgnoresThatOfThePlan) {
  record::RunStarted started;
  started.spec.batch_per_worker = 32;
  WatchedRun run = run_of(10, 128);
  run.loader_batch = 64;
  describe(run, started);
  EXPECT_EQ(started.spec.batch_per_worker, 64);
  EXPECT_EQ(started.spec.accumulate, 2);
}

TEST(WatchedEvents, TakeTheDataFromTheLoaderWhereTheRunWasCutShort) {
  record::RunStarted started;
  started.spec.batch_per_worker = 32;
  started.spec.max_steps = 10;
  WatchedRun run = run_of(10, 32);
  run.loader_examples = 6400;
  describe(run, started);
  EXPECT_EQ(started.spec.data.train_examples, 6400);
  EXPECT_EQ(started.steps_per_epoch, 200);
}

TEST(WatchedEvents, TakeExamplesBeyondTheStatedBatchForAccumulation) {
  record::RunStarted started;
  started.spec.batch_per_worker = 32;
  describe(run_of(10, 128), started);
  EXPECT_EQ(started.spec.batch_per_worker, 32);
  EXPECT_EQ(started.spec.accumulate, 4);
}

}  // namespace
}  // namespace lockstep::watch
