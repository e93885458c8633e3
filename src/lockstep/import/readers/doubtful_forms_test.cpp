#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/model/name_facts.h"

namespace lockstep::import {
namespace {

// Readings that look right and are not.

std::string keras_log(const std::string& first_bar, const std::string& last_bar,
                      const std::string& rest) {
  std::string log = "batch_size: 32\n";
  for (int epoch = 1; epoch <= 2; ++epoch) {
    log += "Epoch " + std::to_string(epoch) + "/2\n";
    if (!first_bar.empty()) log += first_bar + " [>........] - ETA: 12s - loss: 0.75\r";
    log += last_bar + " [==========] - " + rest + "\n";
  }
  return log;
}

TEST(KerasBars, OfOldVersionsCountExamples) {
  const ImportedRun run =
      import_text(keras_log("  32/1024", "1024/1024", "26s - loss: 0.5")).runs.at(0);
  EXPECT_FALSE(run.steps_per_epoch);
  EXPECT_EQ(*run.examples, 1024);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 26);
  const ImportedRun timed =
      import_text(keras_log("  32/60000", "60000/60000", "10s 170us/step - loss: 0.5")).runs.at(0);
  EXPECT_TRUE(timed.step_time.empty()) << "170 us are of one example";
  EXPECT_NEAR(timed.throughput.last(), 1 / 170e-6, 1e-6);
}

TEST(KerasBars, CountStepsFromOne) {
  const ImportedRun run =
      import_text(keras_log("  1/32", "32/32", "26s 812ms/step - loss: 0.5")).runs.at(0);
  EXPECT_EQ(*run.steps_per_epoch, 32);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.812);
}

TEST(KerasBars, WithoutTheFirstOneMayCountEither) {
  const ImportedRun old = import_text(keras_log("", "1024/1024", "26s - loss: 0.5")).runs.at(0);
  EXPECT_FALSE(old.steps_per_epoch);
  EXPECT_FALSE(old.examples);
  const ImportedRun named =
      import_text(keras_log("", "1875/1875", "3s 2ms/step - loss: 0.5 - acc: 0.75")).runs.at(0);
  EXPECT_FALSE(named.steps_per_epoch);
  EXPECT_TRUE(named.step_time.empty());
  const ImportedRun later =
      import_text(keras_log("", "1875/1875", "3s 2ms/step - loss: 0.5 - accuracy: 0.75"))
          .runs.at(0);
  EXPECT_EQ(*later.steps_per_epoch, 1875);
}

TEST(Means, StandBehindTheirOwnName) {
  const auto mean = [](const std::string& line) {
    const ImportedFile file = import_text("Using 4 GPUs\nbatch size: 32\n" + line + "\n");
    return file.runs.at(0).epoch_s.value_or(0);
  };
  EXPECT_DOUBLE_EQ(mean("Average time per epoch: 12.5 s, total time: 45 s"), 12.5);
  EXPECT_DOUBLE_EQ(mean("12:30:05 INFO Average epoch time: 1 min 5 s"), 65);
}

TEST(Means, AreNotTheEndsOfManyValues) {
  const ImportedFile file = import_text(
      "world_size: 4\nbatch size: 32\navg_step_time: 0.0452\nmin_step_time: 0.0431\n"
      "max_step_time: 0.0489\nthroughput: 22.5 samples/sec\nmax throughput: 31.5 samples/sec\n");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_DOUBLE_EQ(run.throughput.last(), 22.5);
  EXPECT_LT(run.step_time.empty() ? 0 : run.step_time.last(), 0.046);
  EXPECT_EQ(metric_of("step_time_p99_ms").metric, Metric::kOther);
  EXPECT_EQ(metric_of("throughput_std").metric, Metric::kOther);
  EXPECT_EQ(metric_of("epoch_time_min").metric, Metric::kEpochTime) << "minutes";
  EXPECT_DOUBLE_EQ(metric_of("epoch_time_min").scale, 60);
}

TEST(EpochNumbers, AreNotCountsPerEpoch) {
  const ImportedFile file = import_text(
      "Steps per Epoch: 10008.0\nPer-GPU Batch Size: 128\n(learning_rate.py:48) cosine schedule\n"
      "Epoch 1: loss 0.5\nEpoch 2: loss 0.25\n");
  ASSERT_EQ(file.runs.at(0).epochs.size(), 2u);
  EXPECT_EQ(file.runs[0].epochs.back().epoch, 2);
  EXPECT_TRUE(std::isnan(file.runs[0].epochs.back().learning_rate));
}

TEST(FileNames, SizesOfNetworksAndIdentifiersAreNoBatch) {
  const auto batch = [](const std::string& name) {
    ImportedRun run;
    facts_from_name(name, run);
    return run.batch_per_worker.value.value_or(0);
  };
  EXPECT_EQ(batch("scaling_ddp_vit_b_16_2gpu.json"), 0);
  EXPECT_EQ(batch("vit_b32_1gpu.log"), 0);
  EXPECT_EQ(batch("efficientnet-b4_2gpu.log"), 0);
  EXPECT_EQ(batch("5bdc3988-496c-4232-b4ef-53764cb81c92.txt"), 0);
  EXPECT_EQ(batch("resnet50_gpux2_b208_cpu20.csv"), 208);
  EXPECT_EQ(batch("run_bs64.log"), 64);
}

TEST(Columns, IndexOfAFrameWithTimesOfEpochsIsTheEpoch) {
  const ImportedFile file = import_text(
      ",epoch_timings,test_acc,train_acc,train_loss\n0,71.5,0.25,0.375,2.125\n"
      "1,65.25,0.5,0.625,1.5\n2,64.75,0.625,0.75,1.25\n",
      "training.csv");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 65.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.625);
}

}  // namespace
}  // namespace lockstep::import
