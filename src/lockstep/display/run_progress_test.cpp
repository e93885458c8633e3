#include "lockstep/display/run_progress.h"

#include <gtest/gtest.h>

#include "lockstep/base/steered_clock.h"

namespace lockstep::display {
namespace {

record::RunStarted run_of(int epochs, std::int64_t steps_per_epoch, std::int64_t max_steps = 0) {
  record::RunStarted started;
  started.spec.epochs = epochs;
  started.spec.max_steps = max_steps;
  started.steps_per_epoch = steps_per_epoch;
  return started;
}

record::Progress at(int epoch, std::int64_t step) {
  return {epoch, step, 100, 14'213.4, 0.41234};
}

TEST(RunProgress, EstimatesTheRestAtThePaceSoFar) {
  SteeredClock clock;
  RunProgress progress(run_of(4, 100), clock);
  progress.update(at(1, 1));
  EXPECT_FALSE(progress.remaining());
  clock.now = 10'000'000'000;  // 100 steps in 10 s: 0.1 s each, 299 to go
  progress.update(at(2, 1));
  EXPECT_NEAR(progress.remaining()->count(), 29.9, 1e-9);
  EXPECT_NEAR(progress.fraction(), 101.0 / 400, 1e-12);
}

TEST(RunProgress, MeasuresThePaceOfAResumedRunFromWhereItWentOn) {
  SteeredClock clock;
  RunProgress progress(run_of(4, 100), clock);
  progress.update(at(3, 51));
  clock.now = 1'000'000'000;
  progress.update(at(3, 61));  // 10 steps in 1 s, 139 to go
  EXPECT_NEAR(progress.remaining()->count(), 13.9, 1e-9);
}

TEST(RunProgress, EndsWhereTheStepsAreLimited) {
  SteeredClock clock;
  RunProgress progress(run_of(1000, 100, 150), clock);
  progress.update(at(2, 25));
  EXPECT_NEAR(progress.fraction(), 125.0 / 150, 1e-12);
  EXPECT_EQ(progress.line(), "epoch 2/1000 step 25/50  14,213 examples/s  loss 0.4123");
}

TEST(RunProgress, ShowsRateLossAndTimeLeft) {
  SteeredClock clock;
  RunProgress progress(run_of(2, 100), clock);
  progress.update(at(1, 1));
  clock.now = 9'900'000'000;
  progress.update(at(1, 100));
  EXPECT_EQ(progress.bar(),
            "epoch 1/2 [=====>    ] 100/100  ETA 10.0 s  14,213 examples/s  loss 0.4123");
  EXPECT_EQ(progress.line(), "epoch 1/2 step 100/100  ETA 10.0 s  14,213 examples/s  loss 0.4123");
}

TEST(RunProgress, DoesNotShowAnUnknownLoss) {
  SteeredClock clock;
  RunProgress progress(run_of(1, 100), clock);
  record::Progress news = at(1, 100);
  news.loss = record::kUnknown;
  progress.update(news);
  EXPECT_EQ(progress.bar(), "epoch 1/1 [==========] 100/100  14,213 examples/s");
}

}  // namespace
}  // namespace lockstep::display
