#include "lockstep/train/tensor_optimizer.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::train {
namespace {

/// Two weights and a bias with gaps between them, as alignment leaves; the first moves at a tenth
/// of the rate.
const std::vector<TensorRange> kRanges{{0, 1003, true}, {1008, 17, false}, {1040, 2500, true}};
const std::vector<RateGroup> kGroups{{0, 1008, 0.1}, {1008, 3552, 1}};
constexpr std::int64_t kFloats = 3552;

torch::Tensor random_flat(double scale) {
  auto flat = torch::zeros({kFloats});
  for (const TensorRange& range : kRanges) {
    flat.narrow(0, static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.count))
        .normal_(0, scale);
  }
  return flat;
}

OptimizerOptions decaying(const record::OptimizerFacts& facts) {
  OptimizerOptions options;
  options.rule = facts.value;
  options.weight_decay = 0.01;
  options.beta1 = 0.8;
  options.beta2 = 0.95;
  return options;
}

std::unique_ptr<TensorOptimizer> on_device(const OptimizerOptions& options) {
  return make_device_optimizer(options, kGroups, kRanges, kFloats, torch::kCPU);
}

double test_rate(const record::OptimizerFacts& facts) {
  return facts.value == record::Optimizer::kLars ? 10 : 0.01;
}

class TensorOptimizers : public ::testing::TestWithParam<record::OptimizerFacts> {};

TEST_P(TensorOptimizers, OnADeviceTakeTheStepsOfTheHost) {
  torch::manual_seed(3);
  const auto host = make_host_optimizer(decaying(GetParam()), kGroups, kRanges, kFloats);
  const auto device = on_device(decaying(GetParam()));
  const auto ours = random_flat(0.5), theirs = ours.clone();
  for (int step = 0; step < 30; ++step) {
    const auto gradients = random_flat(0.1);
    const double rate = test_rate(GetParam()) * (1 + step % 5);
    host->step(ours, gradients, rate);
    device->step(theirs, gradients, rate);
  }
  EXPECT_FALSE(torch::allclose(ours, torch::zeros_like(ours)));
  // Thirty steps of the same operations, rounded in another order.
  EXPECT_TRUE(torch::allclose(ours, theirs, 2e-5, 2e-6));
  EXPECT_EQ(device->steps(), 30);
}

TEST_P(TensorOptimizers, KeepWhatACheckpointKnowsByTheSameNames) {
  torch::manual_seed(4);
  const auto host = make_host_optimizer(decaying(GetParam()), kGroups, kRanges, kFloats);
  const auto device = on_device(decaying(GetParam()));
  const auto parameters = random_flat(1), gradients = random_flat(1);
  host->step(parameters.clone(), gradients, 0.01);
  device->step(parameters.clone(), gradients, 0.01);
  const auto whole = device->memory();
  ASSERT_FALSE(whole.empty());
  std::size_t covered = 0;
  for (const TensorMemory& part : host->memory()) {
    for (const TensorMemory& memory : whole) {
      if (memory.name != part.name) continue;
      const auto same =
          memory.values.narrow(0, static_cast<std::int64_t>(part.begin), part.values.numel());
      EXPECT_TRUE(torch::allclose(same, part.values, 1e-5, 1e-7)) << part.name;
      covered += static_cast<std::size_t>(part.values.numel());
    }
  }
  EXPECT_EQ(covered, whole.size() * kFloats);
}

TEST_P(TensorOptimizers, OnADeviceStandStillWhereAllIsZero) {
  const auto parameters = torch::zeros({kFloats});
  on_device(decaying(GetParam()))->step(parameters, torch::zeros({kFloats}), 1);
  EXPECT_TRUE(torch::equal(parameters, torch::zeros({kFloats})));
}

INSTANTIATE_TEST_SUITE_P(All, TensorOptimizers,
                         ::testing::ValuesIn(record::ChoiceTable<record::Optimizer>::kEntries),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DeviceOptimizer, RefusesOptionsOutOfRangeAsTheHostDoes) {
  OptimizerOptions options;
  options.momentum = 1;
  EXPECT_THROW(on_device(options), Error);
}

}  // namespace
}  // namespace lockstep::train
