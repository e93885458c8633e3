#include "lockstep/predict/phases/phase_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/predict/phases/run_phases.h"

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
  for (double message : {1e2, 1e4, 1e6, 1e9}) {
    const Link near = fit_link(calibration, message);
    EXPECT_NEAR(near.alpha_s, 20e-6, 1e-9);
    EXPECT_NEAR(near.bytes_per_s, 2e9, 1e4);
  }
}

TEST(PhaseModel, FitsALinkBestAtTheSizeThatIsSent) {
  // A shaped link lets short messages through at once: its bandwidth is that of long ones.
  std::vector<CollectiveTime> calibration;
  for (double bytes = 1e3; bytes < 2e7; bytes *= 2) {
    const double delayed = std::max(0.0, bytes - 2e5) / 25e6;
    calibration.push_back({bytes, 2e-3 + bytes / 200e6 + delayed, 2});
  }
  const double largest = calibration.back().bytes;
  const double truth = calibration.back().seconds;
  const Link all = fit_link(calibration);
  const Link large = fit_link(calibration, 45e6);
  EXPECT_GT(std::abs(all.all_reduce_s(largest, 2) / truth - 1), 0.1);
  EXPECT_NEAR(large.all_reduce_s(largest, 2) / truth, 1, 0.03);
  const Link small = fit_link(calibration, 1e4);
  EXPECT_NEAR(small.all_reduce_s(calibration[3].bytes, 2) / calibration[3].seconds, 1, 0.05);
  EXPECT_LT(small.spread, all.spread);
  EXPECT_LT(large.spread, all.spread);
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

TEST(PhaseModel, FlowsShareTheLinkOfTheirHost) {
  StepPhases one;
  one.forward_s = 0.001;
  const Link link{1e-4, 1e8, 0};
  PhaseQuestion question{.workers = 4, .gradient_bytes = 1e6, .overlap = false};
  const double alone = predict_phases(one, link, question).communication_s;
  // 2 (N - 1) alpha + 2 (N - 1)/N S / beta
  EXPECT_NEAR(alone, 6 * 1e-4 + 1.5 * 1e-2, 1e-12);
  question.shared_link = {.flows_factor = 3};
  EXPECT_NEAR(predict_phases(one, link, question).communication_s, 6e-4 + 4.5e-2, 1e-12);
}

OneWorkerRun two_core_run() {
  OneWorkerRun run;
  run.started.spec.device = "cpu";
  run.started.spec.threads_per_worker = 1;
  run.started.spec.batch_per_worker = 4;
  run.started.spec.parameters = 100'000;
  run.started.spec.data.train_examples = 1000;
  run.started.machine.cores = 2;
  run.steps.resize(200);
  for (record::StepTimes& step : run.steps) {
    step[record::Phase::kForward] = step.total_s = 0.001;
  }
  run.utilisation = {{.seconds = 1, .cpu_cores = 1}};
  return run;
}

TEST(PhaseModel, HostsThatAreNamespacesOfOneMachineShareItsCores) {
  const auto none = [](int) { return CalibratedRate{}; };
  const Link link{1e-4, 1e8, 0};
  RunPhasesQuestion question{.workers = 4, .nodes = 4};
  const auto apart = predict_run_phases(two_core_run(), link, none, question);
  question.machines = 1;
  const auto together = predict_run_phases(two_core_run(), link, none, question);
  EXPECT_NEAR(apart.step.compute_s, 0.001, 1e-9);
  // Four ranks that keep a core busy each, on two cores.
  EXPECT_NEAR(together.step.compute_s, 0.002, 1e-9);
  // They sleep while messages travel.
  EXPECT_NEAR(together.step.communication_s, apart.step.communication_s, 1e-12);
}

TEST(PhaseModel, MoreRanksPerHostThanCalibratedShareItsLink) {
  const auto none = [](int) { return CalibratedRate{}; };
  const Link link{0, 1e8, 0};
  RunPhasesQuestion question{
      .workers = 4, .nodes = 2, .calibrated_workers = 4, .calibrated_nodes = 2};
  const auto as_calibrated = predict_run_phases(two_core_run(), link, none, question);
  question.calibrated_workers = 2;
  const auto shared = predict_run_phases(two_core_run(), link, none, question);
  EXPECT_NEAR(shared.step.communication_s, 2 * as_calibrated.step.communication_s, 1e-12);
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
