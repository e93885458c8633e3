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

TEST(PhaseModel, LatencyHidesBehindTheTransferOfLargeMessages) {
  // Rounds of 1 ms at least, and of 100 MB/s; the quickest sum of two workers takes two rounds.
  std::vector<CollectiveTime> calibration;
  for (const double bytes : {1e4, 1e5, 1e6, 1e7}) {
    calibration.push_back({bytes, 2 * std::max(1e-3, bytes / 2 / 1e8), 2});
  }
  const Link large = fit_link_near(calibration, 1e7);
  EXPECT_NEAR(large.all_reduce_s(1e7, 2), 0.1, 0.003);
  EXPECT_NEAR(large.all_reduce_s(1e7, 4), 0.15, 0.005);  // not six times the latency more
  EXPECT_NEAR(large.unhidden_s(1e7, 4), 0.156, 0.006);
  const Link small = fit_link_near(calibration, 1e4);
  EXPECT_NEAR(small.alpha_s, 1e-3, 5e-5);
  EXPECT_NEAR(small.all_reduce_s(1e4, 4), 6e-3, 3e-4);  // six rounds
  // What was measured on the link replaces the bandwidth, not the latency.
  const Link own = large.measured_at(1e7, 2, 0.12);
  EXPECT_NEAR(own.all_reduce_s(1e7, 2), 0.12, 1e-9);
  EXPECT_NEAR(own.all_reduce_s(1e7, 4), 0.18, 1e-9);
  EXPECT_EQ(own.alpha_s, large.alpha_s);
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

MeasuredRun two_core_run() {
  MeasuredRun run;
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

/// The same steps on two workers: 1 ms of compute each, then 4 ms of exposed communication.
MeasuredRun two_worker_run(int nodes) {
  MeasuredRun run = two_core_run();
  run.started.spec.workers = 2;
  run.started.spec.nodes = nodes;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    record::StepTimes& step = run.steps[i];
    step.rank = static_cast<std::int32_t>(i % 2);
    step[record::Phase::kWait] = step.rank == 0 ? 0.001 : 0;
    step[record::Phase::kTransfer] = step.rank == 0 ? 0.003 : 0.004;
    step.total_s = 0.005;
  }
  return run;
}

TEST(PhaseModel, OfSeveralWorkersTheirOwnCommunicationIsLeftOut) {
  const auto none = [](int) { return CalibratedRate{}; };
  const Link link{1e-4, 1e8, 0};
  const RunPhasesQuestion question{.workers = 4, .nodes = 4};
  const auto of_one = predict_run_phases(two_core_run(), link, none, question);
  const auto of_two = predict_run_phases(two_worker_run(2), link, none, question);
  EXPECT_NEAR(of_two.step.step_s.value, of_one.step.step_s.value, 1e-12);
  EXPECT_NEAR(of_two.epoch_s->value, of_one.epoch_s->value, 1e-9);
  EXPECT_EQ(of_two.steps, 90u);  // half as many of each rank, 10 of them warm-up
}

TEST(PhaseModel, TheLengthOfAnEpochMayBeUnknown) {
  const auto none = [](int) { return CalibratedRate{}; };
  MeasuredRun run = two_core_run();
  const RunPhasesQuestion question{.workers = 2};
  EXPECT_TRUE(predict_run_phases(run, {1e-4, 1e8, 0}, none, question).epoch_s.has_value());
  run.started.spec.data.train_examples = 0;
  EXPECT_FALSE(predict_run_phases(run, {1e-4, 1e8, 0}, none, question).epoch_s.has_value());
}

TEST(PhaseModel, OtherProgramsUseTheLinkOfTheirOwnBackEnd) {
  std::vector<record::LinkCalibration> links(2);
  links[0].backend = record::Backend::kSharedMemory;
  links[1].backend = record::Backend::kGloo;
  for (record::LinkCalibration& link : links) {
    link.bytes_per_s = 1e9;
    link.workers = 2;
    link.machine.host = "here";
  }
  record::RunStarted run;
  run.machine.host = "here";
  const auto used = [&] { return best_link(links, run, 2, 1)->backend; };
  EXPECT_EQ(used(), record::Backend::kSharedMemory) << "a run of lockstep train";
  run.spec.command = "python train.py";
  run.spec.backend = std::nullopt;
  EXPECT_EQ(used(), record::Backend::kGloo) << "one worker";
  run.spec.backend = record::Backend::kSharedMemory;
  EXPECT_EQ(used(), record::Backend::kSharedMemory) << "a program with the library";
}

TEST(PhaseModel, TransfersThatTheRunMeasuredReplaceTheCalibration) {
  const auto none = [](int) { return CalibratedRate{}; };
  const Link calibrated{1e-4, 1e8, 0, 1.1e8};
  RunPhasesQuestion question{.workers = 4, .nodes = 4};
  MeasuredRun run = two_worker_run(2);
  run.started.spec.strategy = record::Strategy::kBlocking;
  // 3.5 ms on the link for two workers: half as much again for four.
  EXPECT_NEAR(predict_run_phases(run, calibrated, none, question).step.communication_s, 5.25e-3,
              1e-9);
  const auto as_calibrated = [&](const MeasuredRun& other, const Link& link) {
    return predict_run_phases(other, link, none, question).link.bytes_per_s == link.bytes_per_s;
  };
  EXPECT_TRUE(as_calibrated(run, {1e-4, 1e8, 0})) << "stated by the user";
  EXPECT_TRUE(as_calibrated(two_core_run(), calibrated)) << "one worker sends nothing";
  run.started.spec.nodes = 1;
  EXPECT_TRUE(as_calibrated(run, calibrated)) << "inside a host";
  run.started.spec.nodes = 2;
  run.started.spec.strategy = record::Strategy::kOverlap;
  EXPECT_TRUE(as_calibrated(run, calibrated)) << "backward hid a part";
}

TEST(PhaseModel, CoresThatTheMeasuredWorkersSharedCountOnce) {
  const auto none = [](int) { return CalibratedRate{}; };
  // Half of the bandwidth of two is left to each of four threads on two cores.
  const auto calibrated = [](int threads) { return CalibratedRate{threads * 1e9, 1e9}; };
  const Link link{0, 1e8, 0};
  const auto factor = [&](const MeasuredRun& run, const RateOfThreads& rate, int machines) {
    return predict_run_phases(run, link, rate, {.workers = 4, .nodes = 4, .machines = machines})
        .asked.contention;
  };
  // Two namespaces of one machine kept both cores busy already; four workers take turns.
  EXPECT_NEAR(factor(two_worker_run(2), none, 1).value, 2, 1e-9);
  EXPECT_NEAR(factor(two_worker_run(1), none, 1).value, 2, 1e-9);
  EXPECT_NEAR(factor(two_core_run(), none, 1).value, 2, 1e-9);
  EXPECT_NEAR(factor(two_core_run(), calibrated, 1).high, 4, 1e-9);
  EXPECT_NEAR(factor(two_worker_run(2), calibrated, 1).high, 2, 1e-9);
  // On hosts of their own they are no longer in each other's way.
  EXPECT_EQ(factor(two_worker_run(2), calibrated, 0).value, 1);
  EXPECT_NEAR(factor(two_worker_run(1), calibrated, 0).low, 0.5, 1e-9);
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
