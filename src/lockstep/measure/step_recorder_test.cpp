#include "lockstep/measure/step_recorder.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::measure {
namespace {

using record::Phase;

class SteeredClock final : public Clock {
 public:
  Nanoseconds monotonic() const override { return now; }
  Nanoseconds wall() const override { return now; }
  Nanoseconds now = 1'000;
};

TEST(StepRecorder, GivesEveryMomentToOnePhase) {
  SteeredClock clock;
  StepRecorder recorder(clock, 3);
  recorder.begin(2, 17);
  clock.now += 100;
  recorder.end_phase(Phase::kInputWait);
  clock.now += 2'000;
  recorder.end_phase(Phase::kForward);
  clock.now += 4'000;
  recorder.end_phase(Phase::kBackward);
  recorder.ready();
  clock.now += 500;
  recorder.end_phase(Phase::kTransfer);
  clock.now += 50;
  const record::StepTimes step = recorder.end(128);

  EXPECT_EQ(step.rank, 3);
  EXPECT_EQ(step.epoch, 2);
  EXPECT_EQ(step.step, 17);
  EXPECT_EQ(step.examples, 128);
  EXPECT_EQ(step.start_ns, 1'000);
  EXPECT_EQ(step.ready_ns, 7'100);
  EXPECT_DOUBLE_EQ(step[Phase::kBackward], 4e-6);
  EXPECT_DOUBLE_EQ(step[Phase::kOther], 50e-9);
  EXPECT_DOUBLE_EQ(step.total_s, 6.65e-6);
  EXPECT_NEAR(std::accumulate(step.phase_s.begin(), step.phase_s.end(), 0.0), step.total_s, 1e-15);
}

TEST(StepRecorder, StartsEachStepFromNothing) {
  SteeredClock clock;
  StepRecorder recorder(clock, 0);
  recorder.begin(1, 0);
  clock.now += 100;
  recorder.end_phase(Phase::kForward);
  recorder.ready();
  recorder.end(1);
  recorder.begin(1, 1);
  const record::StepTimes step = recorder.end(1);
  EXPECT_EQ(step.total_s, 0);
  EXPECT_EQ(step.ready_ns, 0);
  EXPECT_EQ(step[Phase::kForward], 0);
}

}  // namespace
}  // namespace lockstep::measure
