#include "lockstep/simulate/step_timeline.h"

#include <gtest/gtest.h>

namespace lockstep::simulate {
namespace {

StepShape shape_of_buckets(int count) {
  StepShape shape;
  shape.forward_s = 0.04;
  shape.backward_s = 0.08;
  shape.other_s = 0.01;
  shape.buckets = plan_buckets(100e6, 100e6 / count, 1);
  return shape;
}

void expect_adds_up(const StepParts& parts) {
  EXPECT_NEAR(parts.step_s, parts.input_s + parts.compute_s + parts.wait_s + parts.transfer_s,
              1e-12);
}

TEST(Buckets, SplitEvenlyWhereLayersAreUnknown) {
  const auto buckets = plan_buckets(100e6, 30e6, 0.5);
  ASSERT_EQ(buckets.size(), 4u);
  EXPECT_NEAR(buckets[0].bytes, 12.5e6, 1);
  EXPECT_NEAR(buckets[0].ready, 0.25, 1e-12);
  EXPECT_NEAR(buckets[3].ready, 1, 1e-12);
  EXPECT_EQ(plan_buckets(100e6, 0, 1).size(), 1u);
  EXPECT_TRUE(plan_buckets(0, 1, 1).empty());
}

// Backward begins at the last layer: a large dense layer at the end is ready early.
TEST(Buckets, FollowTheWorkOfLayers) {
  const LayerShare layers[] = {{90, 10}, {10, 90}};
  const auto buckets = plan_buckets(100, 50, 1, layers);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_NEAR(buckets[0].bytes, 90, 1e-9);
  EXPECT_NEAR(buckets[0].ready, 0.1, 1e-9);
  EXPECT_NEAR(buckets[1].ready, 1, 1e-9);
}

TEST(StepTimeline, HidesBucketsBehindBackward) {
  const StepShape shape = shape_of_buckets(4);
  std::vector<BucketSpan> spans;
  const StepParts parts = step_parts(shape, {0.01, 0.01, 0.01, 0.01}, 1, 1, &spans);
  EXPECT_NEAR(parts.transfer_s, 0.01, 1e-12);  // the last bucket hides behind nothing
  EXPECT_NEAR(parts.step_s, 0.14, 1e-12);
  EXPECT_NEAR(parts.communication_s, 0.04, 1e-12);
  EXPECT_NEAR(spans[0].begin_s, 0.06, 1e-12);
  expect_adds_up(parts);
}

TEST(StepTimeline, ASlowLinkQueuesBuckets) {
  const StepParts parts = step_parts(shape_of_buckets(4), {0.1, 0.1, 0.1, 0.1}, 1, 1);
  EXPECT_NEAR(parts.transfer_s, 0.06 + 0.4 - 0.12, 1e-12);  // from the first bucket's ready time
  expect_adds_up(parts);
}

TEST(StepTimeline, WithoutOverlapEverythingIsExposed) {
  StepShape shape = shape_of_buckets(4);
  shape.overlap = false;
  EXPECT_NEAR(step_parts(shape, {0.01, 0.01, 0.01, 0.01}, 1, 1).transfer_s, 0.04, 1e-12);
}

// 30 of 40 ms could be hidden.
TEST(StepTimeline, HidesAShareOfWhatItCould) {
  StepShape shape = shape_of_buckets(4);
  shape.hidden = 0.5;
  const StepParts parts = step_parts(shape, {0.01, 0.01, 0.01, 0.01}, 1, 1);
  EXPECT_NEAR(parts.transfer_s, 0.025, 1e-12);
  expect_adds_up(parts);
  shape.hidden = 0;
  EXPECT_NEAR(step_parts(shape, {0.01, 0.01, 0.01, 0.01}, 1, 1).transfer_s, 0.04, 1e-12);
}

TEST(StepTimeline, OthersWaitForASlowWorker) {
  const StepParts parts = step_parts(shape_of_buckets(1), {0.02}, 1.5, 1);
  EXPECT_NEAR(parts.wait_s, 0.06, 1e-12);
  EXPECT_NEAR(parts.transfer_s, 0.02, 1e-12);
  expect_adds_up(parts);
}

TEST(StepTimeline, AccumulationExchangesOnce) {
  StepShape shape = shape_of_buckets(1);
  shape.accumulate = 4;
  EXPECT_NEAR(step_parts(shape, {0.02}, 1, 1).step_s, 4 * 0.12 + 0.02 + 0.01, 1e-12);
}

TEST(StepTimeline, LocalStepsShareOneExchange) {
  StepShape shape = shape_of_buckets(1);
  shape.local_steps = 8;
  EXPECT_NEAR(step_parts(shape, {0.08}, 1, 1).transfer_s, 0.01, 1e-12);
}

TEST(StepTimeline, TheLoaderWorksWhileGradientsTravel) {
  StepShape shape = shape_of_buckets(1);
  shape.input_s = 0.03;
  const StepParts parts = step_parts(shape, {0.02}, 1, 1);
  EXPECT_NEAR(parts.input_s, 0.01, 1e-12);
  EXPECT_NEAR(parts.step_s, 0.16, 1e-12);
}

TEST(StepTimeline, OneWorkerWithJitterTakesItsMeanStep) {
  const StepParts parts = mean_step(shape_of_buckets(1), {0}, Jitter::stated(0.1), {{1, 1}}, 1);
  EXPECT_NEAR(parts.step_s, 0.13, 2e-4);
  EXPECT_NEAR(parts.wait_s, 0, 2e-4);
}

}  // namespace
}  // namespace lockstep::simulate
