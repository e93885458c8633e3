#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/train/trainer/trainer.h"
#include "ordering.h"

namespace lockstep::train {
namespace {

using device_double::Ordering;

struct Trained {
  std::int64_t waits = 0;  ///< of the host for the device
  std::vector<record::StepTimes> steps;
  std::vector<double> losses;
};

record::TrainRequest synthetic_run(const std::string& device, const std::string& recipe,
                                   std::int64_t batch, std::int64_t steps) {
  record::TrainRequest request;
  request.spec.recipe = recipe;
  request.spec.device = device;
  request.spec.data.path = "synthetic";
  request.spec.data.synthetic = true;
  request.spec.batch_per_worker = batch;
  request.spec.max_steps = steps;
  request.validate = false;
  return request;
}

using Change = std::function<void(record::TrainRequest&)>;

/// Trains on generated data, in this process.
Trained trained(
    const std::string& device, std::int64_t steps, const Change& change = [](auto&) {},
    const std::string& recipe = "fashion", std::int64_t batch = 16) {
  const SystemClock clock;
  const std::atomic<bool> stop = false;
  const auto communicator = comm::make_single();
  record::TrainRequest request = synthetic_run(device, recipe, batch, steps);
  change(request);
  Trained result;
  const auto keep = [&](const record::Event& event) {
    if (const auto* block = std::get_if<record::StepBlock>(&event)) {
      result.steps.insert(result.steps.end(), block->steps.begin(), block->steps.end());
    } else if (const auto* epoch = std::get_if<record::EpochResult>(&event)) {
      result.losses.push_back(epoch->train_loss);
    }
  };
  const std::int64_t before = Ordering::instance().waits();
  Trainer(request, {}, *communicator, clock, keep, stop).run();
  result.waits = Ordering::instance().waits() - before;
  return result;
}

double sum_of_phases(const record::StepTimes& step) {
  return std::accumulate(step.phase_s.begin(), step.phase_s.end(), 0.0);
}

/// The type that --amp chooses on a GPU of that compute capability.
record::AmpType amp_type_on(const char* capability, record::AmpType asked) {
  ::setenv("DEVICE_DOUBLE_CAPABILITY", capability, 1);
  const SystemClock clock;
  const std::atomic<bool> stop = false;
  const auto communicator = comm::make_single();
  record::TrainRequest request = synthetic_run("cuda", "fashion", 16, 1);
  request.spec.amp = true;
  request.spec.amp_type = asked;
  std::optional<record::AmpType> chosen;
  const auto keep = [&](const record::Event& event) {
    if (const auto* started = std::get_if<record::RunStarted>(&event)) {
      chosen = started->spec.amp_type;
    }
  };
  Trainer trainer(request, {}, *communicator, clock, keep, stop);
  ::unsetenv("DEVICE_DOUBLE_CAPABILITY");
  trainer.run();
  return chosen.value();
}

TEST(DeviceTrainer, ComputesInBfloat16OnlyWhereTheGpuDoes) {
  using record::AmpType;
  EXPECT_EQ(amp_type_on("75", AmpType::kAuto), AmpType::kHalf);
  EXPECT_EQ(amp_type_on("80", AmpType::kAuto), AmpType::kBrain);
  EXPECT_EQ(amp_type_on("90", AmpType::kHalf), AmpType::kHalf);
  try {
    amp_type_on("75", AmpType::kBrain);
    ADD_FAILURE() << "bfloat16 is emulated there";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--amp-type bf16 would be slow on this GPU, whose compute capability is 7.5; bf16 "
                 "needs 8.0");
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
  ::unsetenv("DEVICE_DOUBLE_CAPABILITY");
}

TEST(DeviceTrainer, WaitsForTheDeviceOncePerStep) {
  const std::pair<const char*, Change> cases[] = {
      {"sgd", [](auto&) {}},
      {"sampled", [](auto& r) { r.phases = record::PhaseTiming::kSampled; }},
      {"adam", [](auto& r) { r.spec.optimizer = record::Optimizer::kAdam; }},
      {"lars", [](auto& r) { r.spec.optimizer = record::Optimizer::kLars; }},
      {"lamb", [](auto& r) { r.spec.optimizer = record::Optimizer::kLamb; }},
      {"accumulate", [](auto& r) { r.spec.accumulate = 2; }},
      {"fp16", [](auto& r) {
         r.spec.amp = true;
         r.spec.amp_type = record::AmpType::kHalf;
       }}};
  for (const auto& [name, change] : cases) {
    const auto few = trained("cuda", 12, change), many = trained("cuda", 20, change);
    EXPECT_EQ(many.waits - few.waits, 8) << name;  // step 17 is a sampled one
  }
}

TEST(DeviceTrainer, LossesInSixteenBitsAreCloseToThoseOfFloats) {
  const auto exact = trained("cuda", 20);
  for (const auto type : {record::AmpType::kHalf, record::AmpType::kBrain}) {
    const auto rounded = trained("cuda", 20, [&](auto& request) {
      request.spec.amp = true;
      request.spec.amp_type = type;
    });
    const double off = std::abs(rounded.losses.at(0) / exact.losses.at(0) - 1);
    // Numbers of 11 and 8 bits; a scale of the loss that was not taken off again, or steps that
    // were left out, would change the loss by more than a tenth.
    EXPECT_LT(off, 0.02) << record::name_of(type);
    EXPECT_GT(off, 0) << "nothing was rounded";
  }
}

TEST(DeviceTrainer, WaitsForTheDeviceOncePerStepAndNetwork) {
  const auto few = trained(
      "cuda", 1, [](auto&) {}, "gan", 2);
  const auto many = trained(
      "cuda", 3, [](auto&) {}, "gan", 2);
  EXPECT_LE(many.waits - few.waits, 4) << "each network has results of its own";
}

TEST(DeviceTrainer, LossesAreThoseOfACpu) {
  const auto cpu = trained("cpu", 8), device = trained("cuda", 8);
  ASSERT_EQ(cpu.losses.size(), 1U);
  ASSERT_EQ(device.losses.size(), 1U);
  // The network's own kernels for CPUs add in another order, and eight steps follow from it.
  EXPECT_NEAR(device.losses[0], cpu.losses[0], 1e-4 * cpu.losses[0]);
}

TEST(DeviceTrainer, PhasesReadAStepLateAddUpAndFollowEachOther) {
  const auto run = trained("cuda", 12);
  ASSERT_EQ(run.steps.size(), 12U);
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const auto& step = run.steps[i];
    EXPECT_EQ(step.step, static_cast<std::int64_t>(i));
    EXPECT_EQ(step.examples, 16);
    EXPECT_NEAR(sum_of_phases(step), step.total_s, 1e-9);
    for (const double phase : step.phase_s) EXPECT_GE(phase, 0);
    EXPECT_GT(step[record::Phase::kForward], 0);
    EXPECT_GT(step[record::Phase::kBackward], 0);
    EXPECT_GT(step[record::Phase::kOptimizer], 0);
    EXPECT_GE(step.ready_ns, step.start_ns);
    EXPECT_LE(step.ready_ns, step.start_ns + static_cast<std::int64_t>(step.total_s * 1e9) + 1);
  }
  // A step begins where the one before ended, on the clock of the host to within what it takes to
  // notice that results have arrived.
  const double span = static_cast<double>(run.steps.back().start_ns - run.steps[1].start_ns) * 1e-9;
  double total = 0;
  for (std::size_t i = 1; i + 1 < run.steps.size(); ++i) total += run.steps[i].total_s;
  EXPECT_NEAR(span, total, 0.5 * total);
}

TEST(DeviceTrainer, TransferContainsNothingOfTheResults) {
  // Of one rank, whose sums need no operation.
  ::setenv("DEVICE_DOUBLE_OPERATIONS_CLOCK", "1", 1);
  const auto run = trained("cuda", 6);
  ::unsetenv("DEVICE_DOUBLE_OPERATIONS_CLOCK");
  ASSERT_EQ(run.steps.size(), 6U);
  for (const auto& step : run.steps) {
    EXPECT_EQ(step[record::Phase::kTransfer], 0);
    EXPECT_GT(step[record::Phase::kOther], 0) << "the copy of the results";
    EXPECT_GT(step[record::Phase::kOptimizer], 0);
  }
}

TEST(DeviceTrainer, SampledPhasesHaveTheDurationOfTheirOwnStep) {
  const auto run =
      trained("cuda", 40, [](auto& request) { request.phases = record::PhaseTiming::kSampled; });
  ASSERT_EQ(run.steps.size(), 40U);
  const auto share = [](const record::StepTimes& step) {
    return step[record::Phase::kForward] / step.total_s;
  };
  for (const auto& step : run.steps) EXPECT_NEAR(sum_of_phases(step), step.total_s, 1e-9);
  for (std::size_t i = 20; i < 32; ++i) {
    EXPECT_NEAR(share(run.steps[i]), share(run.steps[17]), 1e-9);
  }
}

}  // namespace
}  // namespace lockstep::train
