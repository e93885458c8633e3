#include "lockstep/record/event.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"

namespace lockstep::record {
namespace {

template <class E>
E round_trip(const E& event) {
  const auto back = from_line(to_line(event));
  EXPECT_TRUE(back.has_value());
  return std::get<E>(*back);
}

TEST(Event, RunStartedSurvivesARoundTrip) {
  RunStarted event;
  event.spec.recipe = "cifar-resnet18";
  event.spec.data.synthetic = true;
  event.spec.workers = 4;
  event.machine.gpus = {"T4", "T4"};
  event.build.blas = "OpenBLAS";
  event.started_wall_ns = 123;
  const RunStarted back = round_trip(event);
  EXPECT_EQ(back.spec.recipe, "cifar-resnet18");
  EXPECT_TRUE(back.spec.data.synthetic);
  EXPECT_EQ(back.spec.workers, 4);
  EXPECT_EQ(back.machine.gpus.size(), 2u);
  EXPECT_EQ(back.build.blas, "OpenBLAS");
  EXPECT_EQ(back.started_wall_ns, 123);
}

TEST(Event, StepsKeepNanosecondsAndUnknownMetricsStayUnknown) {
  StepBlock block;
  block.steps.resize(2);
  block.steps[1].rank = 1;
  block.steps[1].step = 7;
  block.steps[1][Phase::kBackward] = 0.123456789;
  const StepBlock back = round_trip(block);
  ASSERT_EQ(back.steps.size(), 2u);
  EXPECT_EQ(back.steps[1].rank, 1);
  EXPECT_EQ(back.steps[1].step, 7);
  EXPECT_DOUBLE_EQ(back.steps[1][Phase::kBackward], 0.123456789);

  EpochResult epoch;
  epoch.epoch = 3;
  epoch.train_loss = 0.5;
  const EpochResult epoch_back = round_trip(epoch);
  EXPECT_EQ(epoch_back.train_loss, 0.5);
  EXPECT_TRUE(std::isnan(epoch_back.val_accuracy));
  EXPECT_TRUE(std::isnan(epoch_back.noise_scale));
}

TEST(Event, UtilisationSurvivesARoundTrip) {
  UtilisationBlock block;
  block.samples.push_back({.rank = 2,
                           .epoch = 3,
                           .at_s = 1.5,
                           .seconds = 0.5,
                           .cpu_cores = 0.9,
                           .resident_bytes = 1 << 30});
  const UtilisationBlock back = round_trip(block);
  ASSERT_EQ(back.samples.size(), 1u);
  EXPECT_EQ(back.samples[0].rank, 2);
  EXPECT_EQ(back.samples[0].epoch, 3);
  EXPECT_DOUBLE_EQ(back.samples[0].cpu_cores, 0.9);
  EXPECT_EQ(back.samples[0].resident_bytes, 1 << 30);
  EXPECT_TRUE(std::isnan(back.samples[0].gpu));
}

TEST(Event, TheChosenBucketSurvivesARoundTrip) {
  EXPECT_EQ(round_trip(BucketChosen{16'000'000}).bytes, 16'000'000u);
}

TEST(Event, RunEndedKeepsItsStatus) {
  RunEnded event;
  event.status = RunStatus::kInterrupted;
  EXPECT_EQ(round_trip(event).status, RunStatus::kInterrupted);
}

TEST(Event, RefusesNewerVersionsAndGarbageButSkipsUnknownTypes) {
  EXPECT_THROW(from_line(R"({"v":99,"type":"epoch"})"), Error);
  EXPECT_THROW(from_line("plain text"), Error);
  EXPECT_THROW(from_line(R"({"v":1,"type":"run_ended","status":"odd"})"), Error);
  EXPECT_THROW(from_line(R"({"v":1,"type":"steps","columns":{"rank":[0]}})"), Error);
  EXPECT_FALSE(from_line(R"({"v":1,"type":"from_the_future"})").has_value());
}

}  // namespace
}  // namespace lockstep::record
