#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "lockstep/comm/backends/single.h"
#include "lockstep/train/trainer/trainer.h"

namespace lockstep::train {
namespace {

TEST(Validation, EndsEarlyWhenTheRunIsAskedToStop) {
  // Asked before its only step, so that the step is done and 10,000 examples are left to validate.
  const std::atomic<bool> stop = true;
  const SystemClock clock;
  const auto communicator = comm::make_single();
  record::TrainRequest request;
  request.spec.recipe = "fashion";
  request.spec.data.path = "synthetic";
  request.spec.data.synthetic = true;
  request.spec.batch_per_worker = 16;
  request.spec.max_steps = 1;
  std::vector<record::EpochResult> epochs;
  std::vector<record::RunEnded> ends;
  const auto keep = [&](const record::Event& event) {
    if (const auto* epoch = std::get_if<record::EpochResult>(&event)) epochs.push_back(*epoch);
    if (const auto* end = std::get_if<record::RunEnded>(&event)) ends.push_back(*end);
  };
  Trainer(request, {}, *communicator, clock, keep, stop).run();
  ASSERT_EQ(epochs.size(), 1U);
  EXPECT_TRUE(std::isfinite(epochs[0].train_loss));
  EXPECT_FALSE(std::isfinite(epochs[0].val_loss)) << "a part of the examples is no validation loss";
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].status, record::RunStatus::kInterrupted);
}

}  // namespace
}  // namespace lockstep::train
