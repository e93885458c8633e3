#include "lockstep/study/auto_workers/rate_probe.h"

#include <gtest/gtest.h>

namespace lockstep::study {
namespace {

/// A run of 2 workers with batches of 50 on 1000 examples: 10 steps per epoch.
record::RunStarted two_workers() {
  record::RunStarted started;
  started.spec.workers = 2;
  started.spec.batch_per_worker = 50;
  started.spec.data.train_examples = 1000;
  started.steps_per_epoch = 10;
  return started;
}

/// Sends reports of `steps` steps each, of which `rate_of(step)` is the rate at that step of the
/// run, until the probe has enough. Returns the number of reports.
template <class Rate>
int feed(RateProbe& probe, const record::RunStarted& started, int steps, Rate&& rate_of) {
  probe.write(started);
  for (int report = 0; report < 100'000; ++report) {
    const std::int64_t done = std::int64_t{steps} * report;
    record::Progress progress;
    progress.epoch = static_cast<int>(done / started.steps_per_epoch) + 1;
    progress.step = done % started.steps_per_epoch + steps;
    progress.steps_per_epoch = started.steps_per_epoch;
    progress.examples_per_s = rate_of(done);
    try {
      probe.write(progress);
    } catch (const RateProbe::Measured&) {
      return report + 1;
    }
  }
  return -1;
}

TEST(RateProbe, LeavesTheFirstTenStepsOut) {
  RateProbe probe;
  // A part of 5 steps takes 0.5 s, and 1.7 s while the run warms up.
  EXPECT_GT(feed(probe, two_workers(), 5, [](std::int64_t done) { return done < 10 ? 300 : 1000; }),
            0);
  EXPECT_DOUBLE_EQ(probe.examples_per_s(), 1000);
}

TEST(RateProbe, IsDoneAfterTwoSecondsOfFastSteps) {
  RateProbe probe;
  // 0.5 s each: 2 of warm-up, 4 of 2 s.
  EXPECT_EQ(feed(probe, two_workers(), 5, [](std::int64_t) { return 1000; }), 6);
}

TEST(RateProbe, NeedsTwoStepsOfAMinute) {
  RateProbe probe;
  EXPECT_EQ(feed(probe, two_workers(), 1, [](std::int64_t) { return 100.0 / 60; }), 2);
  EXPECT_DOUBLE_EQ(probe.examples_per_s(), 100.0 / 60);
}

TEST(RateProbe, MeasuresEpochsThatAreTooShortForProgress) {
  RateProbe probe;
  probe.write(two_workers());
  bool measured = false;
  for (int epoch = 1; epoch <= 100 && !measured; ++epoch) {
    record::EpochResult result;
    result.epoch = epoch;
    result.examples = 1000;
    result.train_s = 0.1;
    try {
      probe.write(result);
    } catch (const RateProbe::Measured&) {
      measured = true;
    }
  }
  EXPECT_TRUE(measured);
  EXPECT_DOUBLE_EQ(probe.examples_per_s(), 10'000);
}

TEST(RateProbe, CountsTheExamplesOfASmallLastStep) {
  RateProbe probe;
  record::RunStarted started = two_workers();
  started.spec.data.train_examples = 30;  // less than one global batch
  started.steps_per_epoch = 1;
  // Ranks report whole global batches: 100 examples in 0.1 s, which were 30.
  EXPECT_GT(feed(probe, started, 1, [](std::int64_t) { return 1000; }), 0);
  EXPECT_DOUBLE_EQ(probe.examples_per_s(), 300);
}

TEST(RateProbe, HasTheRateOfAllStepsOfARunThatEndedEarly) {
  RateProbe probe;
  EXPECT_EQ(probe.examples_per_s(), 0);
  probe.write(two_workers());
  record::Progress progress;
  progress.epoch = 1;
  progress.step = 2;
  progress.examples_per_s = 400;
  probe.write(progress);
  EXPECT_DOUBLE_EQ(probe.examples_per_s(), 400);
}

}  // namespace
}  // namespace lockstep::study
