#include "lockstep/predict/duration/time_to_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/predict/duration/target_epochs.h"

namespace lockstep::predict {
namespace {

TEST(TimeToAccuracy, RecoversTheNoiseScaleFromEpochsToTarget) {
  // steps = 1000 (1 + 512 / B) on 50,000 examples.
  std::vector<EpochsToTarget> measured;
  for (double batch : {64.0, 256.0, 1024.0}) {
    measured.push_back({batch, 1000 * (1 + 512 / batch) * batch / 50'000});
  }
  const StepsModel model = fit_steps(measured, 50'000);
  EXPECT_NEAR(model.least_steps, 1000, 1e-6);
  EXPECT_NEAR(model.noise_batch, 512, 1e-6);
  EXPECT_THROW(fit_steps({measured[0]}, 50'000), Error);
}

TEST(TimeToAccuracy, TheStudyOfFourGlobalBatchesNeedsMoreEpochsAtLargerOnes) {
  // Epochs until stable on 30,607 examples at global batches 64, 128, 128, 256: 15, 19, 20, 25.
  const StepsModel model = fit_steps({{64, 15}, {128, 19}, {128, 20}, {256, 25}}, 30'607);
  const Estimate at512 = model.steps(512);
  const double epochs = at512.value * 512 / 30'607;
  EXPECT_GT(epochs, 25);
  EXPECT_LT(epochs, 60);
  EXPECT_LT(at512.low, at512.value);
}

TEST(TimeToAccuracy, EpochsThatDoNotGrowBeyondTheirNoiseCarryNoFit) {
  EXPECT_FALSE(epochs_grow_with_batch({{64, 2}, {128, 2}}));
  EXPECT_FALSE(epochs_grow_with_batch({{64, 10}, {128, 11}}));
  EXPECT_FALSE(epochs_grow_with_batch({{64, 12}, {256, 10}}));
  EXPECT_TRUE(epochs_grow_with_batch({{64, 15}, {128, 19}, {128, 20}, {256, 25}}));
  // As many repeats as it takes.
  const EpochsToTarget small{64, 10};
  const EpochsToTarget large{128, 12};
  EXPECT_TRUE(epochs_grow_with_batch({small, small, small, small, large, large, large, large}));
}

TEST(TimeToAccuracy, AFitThatTheRunsCannotCarryBecomesASentence) {
  TargetEpochs epochs;
  epochs.measured = {{64, 2}, {128, 2}};
  epochs.examples = 60'000;
  const StepsModel model = steps_model(epochs);
  // As many epochs at 96 as at 64 and 128.
  EXPECT_NEAR(model.steps(96).value * 96 / 60'000, 2, 0.01);
  ASSERT_EQ(epochs.notes.size(), 1u);
  EXPECT_NE(epochs.notes[0].find("no critical batch can be determined"), std::string::npos);
  EXPECT_EQ(epochs.notes[0].find("1 + "), std::string::npos) << epochs.notes[0];
}

TEST(TimeToAccuracy, TheIntervalGrowsWithTheDistanceFromTheMeasuredBatches) {
  // Fashion-MNIST to an accuracy of 0.89: 3 epochs at 64, 5 at 256, 16 at 4096.
  const StepsModel near = fit_steps({{64, 3}, {256, 5}}, 60'000);
  const auto epochs = [](const StepsModel& model, double batch) {
    return mapped(model.steps(batch), [&](double steps) { return steps * batch / 60'000; });
  };
  const auto width = [&](double batch) {
    return std::log(epochs(near, batch).high / epochs(near, batch).low);
  };
  EXPECT_GT(width(1024), 1.3 * width(256));
  EXPECT_GT(width(4096), width(1024));
  EXPECT_GT(near.noise_factor(), 2);
  const StepsModel wide = fit_steps({{64, 3}, {4096, 16}}, 60'000);
  EXPECT_LT(wide.noise_factor(), near.noise_factor());
}

TEST(TimeToAccuracy, BelowTheMeasuredBatchesTheIntervalAllowsForMoreEpochs) {
  // Fashion-MNIST to 0.89: 4 epochs at 64, of which the law knows nothing.
  const std::vector<EpochsToTarget> at_256{{256, 3}, {256, 3}};
  std::vector<EpochsToTarget> near = at_256;
  near.insert(near.end(), {{1024, 9}, {1024, 6}, {1024, 6}});
  std::vector<EpochsToTarget> far = at_256;
  far.push_back({4096, 21});
  for (const auto& measured : {near, far}) {
    const StepsModel model = fit_steps(measured, 60'000);
    const double epochs = 64 / 60'000.0;
    EXPECT_GE(model.steps(64).high * epochs, 4);
    EXPECT_LE(model.steps(64).low * epochs, 4);
  }
}

TEST(TimeToAccuracy, MoreWorkersPayUntilTheNoiseScale) {
  TableSeries table;
  table.series = make_series("net", {{1, 1000, 0}, {2, 1980, 0}, {4, 3900, 0}}, 64);
  const StepsModel model{1000, 256, 0.1};
  double hours = 1e9;
  double device_hours = 0;
  for (double workers : {1.0, 2.0, 4.0, 16.0}) {
    const auto job = predict_job(table, {.workers = workers});
    const auto point = time_to_target(job, model, workers * 64);
    ASSERT_TRUE(point);
    EXPECT_LT(point->hours.value, hours);
    EXPECT_GT(point->device_hours.value, device_hours);
    hours = point->hours.value;
    device_hours = point->device_hours.value;
  }
}

TEST(TimeToAccuracy, NeverNegativeOnNoisyMeasurements) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<EpochsToTarget> measured;
    for (double batch : {32.0, 64.0, 512.0}) measured.push_back({batch, 1 + 50 * rng.uniform()});
    const Estimate steps = fit_steps(measured, 1000).steps(128);
    EXPECT_GT(steps.low, 0);
    EXPECT_LE(steps.low, steps.value);
    EXPECT_LE(steps.value, steps.high);
  }
}

}  // namespace
}  // namespace lockstep::predict
