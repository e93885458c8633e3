#include "lockstep/analyze/run_measurements.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::analyze {
namespace {

record::RunStarted started() {
  record::RunStarted event;
  event.spec.recipe = "fashion";
  event.spec.data.name = "fashion-mnist";
  event.spec.data.train_examples = 60'000;
  event.spec.workers = 2;
  event.spec.batch_per_worker = 64;
  event.spec.accumulate = 2;
  event.spec.epochs = 2;
  return event;
}

record::EpochResult epoch(int number, double train_s) {
  record::EpochResult event;
  event.epoch = number;
  event.train_s = train_s;
  event.examples = 60'000;
  event.examples_per_s = 60'000 / train_s;
  event.val_accuracy = 0.8 + 0.01 * number;
  return event;
}

std::vector<record::Measurement> of_metric(const std::vector<record::Measurement>& rows,
                                           const std::string& metric) {
  std::vector<record::Measurement> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [&](const record::Measurement& row) { return row.metric == metric; });
  return found;
}

TEST(RunMeasurements, CarryConfigurationAndMarkTheWarmUpEpoch) {
  const std::vector epochs{epoch(1, 6), epoch(2, 4)};
  record::RunEnded ended;
  ended.total_s = 11;
  const auto rows = measurements_of(started(), epochs, ended, {7, "sweep", 2});
  const auto times = of_metric(rows, "epoch_time");
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].global_batch, 256);
  EXPECT_EQ(times[0].examples, 60'000);
  EXPECT_EQ(times[0].warm_up, true);
  EXPECT_EQ(times[1].warm_up, false);
  EXPECT_EQ(times[1].epoch, 2);
  EXPECT_EQ(times[1].run, "7");
  EXPECT_EQ(times[1].repeat, 2);
  EXPECT_EQ(of_metric(rows, "val_accuracy").size(), 2u);
  EXPECT_TRUE(of_metric(rows, "val_loss").empty());
  EXPECT_DOUBLE_EQ(of_metric(rows, "total_time").at(0).value, 11);
}

TEST(RunMeasurements, TheRateOfARunOfFewStepsLeavesOutItsFirstSteps) {
  record::RunStarted limited = started();
  limited.spec.max_steps = 100;
  const std::vector epochs{epoch(1, 6)};
  StepBreakdown steps;
  steps.ranks.resize(2);
  steps.mean.step = Seconds(0.02);
  EXPECT_DOUBLE_EQ(
      of_metric(measurements_of(limited, epochs, {}, {}, steps), "throughput").at(0).value, 10'000)
      << "no warm-up was afforded: the rate of the epoch";
  steps.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(
      of_metric(measurements_of(limited, epochs, {}, {}, steps), "throughput").at(0).value,
      256 / 0.02);
}

TEST(RunMeasurements, TokensOfARunOfFewStepsLeaveOutItsFirstStepsToo) {
  record::RunStarted limited = started();
  limited.spec.max_steps = 100;
  std::vector epochs{epoch(1, 6)};
  epochs[0].metrics["tokens"] = 64.0 * static_cast<double>(epochs[0].examples);
  StepBreakdown steps;
  steps.ranks.resize(2);
  steps.mean.step = Seconds(0.02);
  steps.warmup_steps = 10;
  const auto rows = of_metric(measurements_of(limited, epochs, {}, {}, steps), "token_rate");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].value, 64 * 256 / 0.02);
  EXPECT_FALSE(rows[0].contains_warm_up);
}

TEST(RunMeasurements, ASingleEpochIsNotWarmUp) {
  const std::vector epochs{epoch(1, 6)};
  const auto rows = measurements_of(started(), epochs, std::nullopt, {});
  EXPECT_EQ(of_metric(rows, "epoch_time").at(0).warm_up, false);
}

TEST(RunMeasurements, AnUnfinishedRunHasNoTotalAndACutEpochNoEpochTime) {
  record::RunStarted start = started();
  start.spec.max_steps = 20;
  const std::vector epochs{epoch(1, 6)};
  record::RunEnded ended;
  ended.status = record::RunStatus::kInterrupted;
  ended.total_s = 11;
  const auto rows = measurements_of(start, epochs, ended, {});
  EXPECT_TRUE(of_metric(rows, "total_time").empty());
  EXPECT_TRUE(of_metric(rows, "epoch_time").empty());
  EXPECT_EQ(of_metric(rows, "throughput").size(), 1u);
}

TEST(RunMeasurements, PhasesOfTheStepsAddUpToTheStep) {
  StepBreakdownBuilder builder(1);
  record::StepBlock block;
  record::StepTimes step;
  step.total_s = 0.036;
  step.phase_s = {0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008};
  block.steps.push_back(step);
  builder.add(block);
  const auto rows = measurements_of(started(), {}, std::nullopt, {}, builder.result());
  const auto value = [&](const char* metric) { return of_metric(rows, metric).at(0).value; };
  EXPECT_DOUBLE_EQ(value("sync_time"), 0.011);
  EXPECT_DOUBLE_EQ(value("compute_time"), 0.016);
  EXPECT_DOUBLE_EQ(
      value("input_wait_time") + value("compute_time") + value("sync_time") + value("other_time"),
      value("step_time"));
}

TEST(RunMeasurements, SyntheticDataAndOversubscriptionAreLabelled) {
  record::RunStarted start = started();
  start.spec.data.synthetic = true;
  start.spec.oversubscribed = true;
  const std::vector epochs{epoch(1, 6)};
  const auto rows = measurements_of(start, epochs, std::nullopt, {});
  EXPECT_EQ(rows.at(0).dataset, "fashion-mnist (synthetic)");
  EXPECT_EQ(rows.at(0).unreliable, "oversubscribed");
}

}  // namespace
}  // namespace lockstep::analyze
