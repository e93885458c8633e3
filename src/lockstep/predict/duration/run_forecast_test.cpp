#include "lockstep/predict/duration/run_forecast.h"

#include <gtest/gtest.h>

#include "lockstep/base/steered_clock.h"

namespace lockstep::predict {
namespace {

/// A synthetic run: 4 epochs of 500 steps of 128 examples, 10 ms each after 25 of 50 ms, 0.3 s of
/// validation an epoch. News comes every 10 steps.
class Rehearsal {
 public:
  Rehearsal() : forecast_(started(), clock_) {}

  static record::RunStarted started() {
    record::RunStarted started;
    started.spec.epochs = 4;
    started.spec.batch_per_worker = 128;
    started.spec.data.train_examples = 64'000;
    started.spec.data.val_examples = 6'400;
    started.steps_per_epoch = 500;
    return started;
  }

  /// Goes on to `steps` of the run.
  void run_to(std::int64_t steps) {
    while (done_ < steps) {
      double seconds = 0;
      for (int i = 0; i < 10; ++i) seconds += done_++ < 25 ? 0.05 : 0.01;
      pass(seconds);
      const auto epoch = static_cast<int>((done_ - 1) / 500 + 1);
      const std::int64_t step = done_ - (epoch - 1) * 500;
      epoch_s_ += seconds;
      // The last news of an epoch is lost, as when it ends within the interval between news.
      if (step < 500) forecast_.update({epoch, step, 500, 10 * 128 / seconds, 1.0});
      if (step == 500) end_epoch(epoch);
    }
  }

  const RunForecast& forecast() const { return forecast_; }
  double seconds() const { return static_cast<double>(clock_.now) * 1e-9; }

 private:
  void pass(double seconds) { clock_.now += static_cast<Nanoseconds>(seconds * 1e9); }

  void end_epoch(int epoch) {
    record::EpochResult result;
    result.epoch = epoch;
    result.train_s = epoch_s_;
    result.val_s = 0.3;
    pass(result.val_s);
    forecast_.finish_epoch(result);
    epoch_s_ = 0;
  }

  SteeredClock clock_;
  RunForecast forecast_;
  std::int64_t done_ = 0;
  double epoch_s_ = 0;
};

constexpr double kTotal = 25 * 0.05 + 1975 * 0.01 + 4 * 0.3;

TEST(RunForecast, CountsTheWarmUpOnceAndValidationEveryEpoch) {
  Rehearsal run;
  run.run_to(100);
  const auto early = run.forecast().total();
  ASSERT_TRUE(early);
  EXPECT_LE(early->low, kTotal);
  EXPECT_GE(early->high, kTotal);
  EXPECT_NEAR(early->value, kTotal, 0.1 * kTotal);
  EXPECT_GE(run.forecast().warm_up_steps(), 20);
  run.run_to(600);
  EXPECT_NEAR(run.forecast().total()->value, kTotal, 0.02 * kTotal);
  EXPECT_NEAR(run.forecast().warm_up_cost_s(), 25 * 0.04, 0.1);
}

TEST(RunForecast, EndsAtWhatTheRunTook) {
  Rehearsal run;
  run.run_to(2000);
  EXPECT_NEAR(run.seconds(), kTotal, 1e-6);
  EXPECT_NEAR(run.forecast().total()->value, kTotal, 1e-6);
  EXPECT_NEAR(run.forecast().remaining()->high, 0, 1e-9);
}

TEST(RunForecast, KeepsItsPredictionsAtFiveAndTwentyPercent) {
  Rehearsal run;
  run.run_to(2000);
  const auto& marks = run.forecast().marks();
  // One per cent is 20 steps, two progress events: too few for a spread.
  ASSERT_TRUE(marks[1].predicted);
  ASSERT_TRUE(marks[2].predicted);
  EXPECT_NEAR(marks[2].predicted->value, kTotal, 0.1 * kTotal);
  EXPECT_LE(marks[2].predicted->low, kTotal);
  EXPECT_GE(marks[2].predicted->high, kTotal);
}

TEST(RunForecast, PredictsNothingForARunOfTenSteps) {
  SteeredClock clock;
  record::RunStarted started = Rehearsal::started();
  started.spec.max_steps = 10;
  RunForecast forecast(started, clock);
  forecast.update({1, 10, 500, 1000, 1.0});
  EXPECT_FALSE(forecast.total());
}

TEST(RunForecast, ARunResumedInMidEpochDidNotDoTheStepsBefore) {
  SteeredClock clock;
  record::RunStarted started = Rehearsal::started();
  started.first_epoch = 3;
  RunForecast forecast(started, clock);
  for (int i = 1; i <= 20; ++i) {
    clock.now = i * 100'000'000;  // ten steps of 10 ms
    forecast.update({3, 200 + 10 * i, 500, 12'800, 1.0});
  }
  // 200 steps in 2 s; 100 of this epoch and 500 of the next to come, and two validations.
  const auto rest = forecast.remaining();
  ASSERT_TRUE(rest);
  EXPECT_NEAR(rest->value, 6 + 2 * 50 * 0.01 * 0.33, 0.2);
  EXPECT_NEAR(forecast.total()->value, 2 + rest->value, 1e-9);
}

}  // namespace
}  // namespace lockstep::predict
