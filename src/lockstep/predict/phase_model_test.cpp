#include "lockstep/predict/phase_model.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::predict {
namespace {

TEST(PhaseModel, RecoversLatencyAndBandwidthOfALink) {
  const Link truth{20e-6, 2e9, 0};
  std::vector<CollectiveTime> calibration;
  for (double bytes : {1e3, 1e5, 1e6, 1e7}) {
    for (int workers : {2, 4}) {
      calibration.push_back({bytes, truth.all_reduce_s(bytes, workers), workers});
    }
  }
  const Link link = fit_link(calibration);
  EXPECT_NEAR(link.alpha_s, 20e-6, 1e-9);
  EXPECT_NEAR(link.bytes_per_s, 2e9, 1e4);
  EXPECT_LT(link.spread, 1e-9);
  EXPECT_THROW(fit_link({{1e6, 0.1, 2}}), Error);
}

TEST(PhaseModel, CommunicationHidesBehindBackwardButForItsLastBucket) {
  StepPhases one;
  one.forward_s = 0.010;
  one.backward_s = 0.020;
  one.other_s = 0.002;
  const Link link{0, 1e9, 0.05};
  PhaseQuestion question;
  question.gradient_bytes = 8e6;  // 8 ms on two workers: hides behind 20 ms
  const PhasePrediction hidden = predict_phases(one, link, question);
  EXPECT_NEAR(hidden.communication_s, 0.008, 1e-12);
  EXPECT_NEAR(hidden.exposed_s, 0.002, 1e-12);
  EXPECT_NEAR(hidden.step_s.value, 0.034, 1e-12);
  question.overlap = false;
  EXPECT_NEAR(predict_phases(one, link, question).step_s.value, 0.040, 1e-12);
  question.gradient_bytes = 50e6;
  question.overlap = true;
  EXPECT_NEAR(predict_phases(one, link, question).exposed_s, 0.030, 1e-12);
}

TEST(PhaseModel, ALoaderThatIsTheLimitStaysTheLimit) {
  StepPhases one;
  one.forward_s = one.backward_s = 0.005;
  one.input_s = 0.030;
  const PhasePrediction p = predict_phases(one, {0, 1e9, 0}, {.gradient_bytes = 1e6});
  EXPECT_TRUE(p.input_bound);
  EXPECT_NEAR(p.step_s.value, 0.040, 1e-12);
}

TEST(PhaseModel, OneWorkerNeitherCommunicatesNorWaits) {
  StepPhases one;
  one.forward_s = 0.01;
  one.totals_s = {0.008, 0.010, 0.012};
  const PhasePrediction p =
      predict_phases(one, {1e-3, 1e6, 0}, {.workers = 1, .gradient_bytes = 1e9});
  EXPECT_EQ(p.communication_s, 0);
  EXPECT_NEAR(p.step_s.value, 0.01, 1e-12);
}

TEST(PhaseModel, TheSlowestOfManyIsExpectedFromTheStepsThemselves) {
  StepPhases one;
  one.totals_s = {1, 1, 1, 5};
  EXPECT_EQ(one.slowest_excess_s(1), 0);
  // Of two draws none is the slow one with probability (3/4)^2: 1 * 9/16 + 5 * 7/16 - 2.
  EXPECT_NEAR(one.slowest_excess_s(2), 0.75, 1e-12);
  EXPECT_NEAR(one.slowest_excess_s(1000), 3, 1e-9);
}

TEST(PhaseModel, StepsThatVaryFromStretchToStretchWidenTheInterval) {
  const auto width = [](bool drifts) {
    std::vector<record::StepTimes> steps(800);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool slow = drifts ? i >= 400 : i % 2 == 1;
      steps[i].total_s = steps[i][record::Phase::kForward] = slow ? 0.02 : 0.01;
    }
    const PhasePrediction p = predict_phases(mean_phases(steps, 0), {0, 1e9, 0}, {.workers = 1});
    return (p.step_s.high - p.step_s.low) / p.step_s.value;
  };
  EXPECT_GT(width(true), 2 * width(false));
}

TEST(PhaseModel, RunsThatDifferAndContentionThatIsUnsureWidenTheInterval) {
  StepPhases one;
  one.forward_s = 0.01;
  const auto width = [&](const PhaseQuestion& question) {
    const PhasePrediction p = predict_phases(one, {0, 1e9, 0}, question);
    return (p.step_s.high - p.step_s.low) / p.step_s.value;
  };
  const double usual = width({});
  EXPECT_GT(width({.run_spread = 0.2}), 1.5 * usual);
  EXPECT_GT(width({.contention = {1.3, 1.0, 1.8}}), 1.5 * usual);
}

TEST(PhaseModel, TheIntervalHoldsBothEndsOfTheContention) {
  StepPhases one;
  one.forward_s = 0.01;
  const PhasePrediction p = predict_phases(one, {0, 1e9, 0}, {.contention = {1.7, 1.0, 1.9}});
  EXPECT_LE(p.step_s.low, 0.01);
  EXPECT_GE(p.step_s.high, 0.019);
}

TEST(PhaseModel, TakesPhasesFromRecordedSteps) {
  std::vector<record::StepTimes> steps(5);
  for (record::StepTimes& step : steps) {
    step[record::Phase::kForward] = 0.01;
    step[record::Phase::kBackward] = 0.02;
    step[record::Phase::kOptimizer] = 0.001;
    step.total_s = 0.031;
  }
  steps[0].total_s = steps[0][record::Phase::kForward] = 1;
  const StepPhases mean = mean_phases(steps, 1);
  EXPECT_NEAR(mean.compute_s(), 0.031, 1e-12);
  EXPECT_THROW(mean_phases(steps, 5), Error);
}

}  // namespace
}  // namespace lockstep::predict
