#include "lockstep/train/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "counters.h"
#include "ordering.h"

namespace lockstep::train {
namespace {

using device_double::Counters;
using device_double::Ordering;

/// Weights and biases in turn, as in a deep network, with gaps of alignment between them.
ParameterLayout layout_of(std::size_t tensors) {
  ParameterLayout layout;
  for (std::size_t i = 0; i < tensors; ++i) {
    const bool weight = i % 2 == 0;
    layout.tensors.push_back({layout.count, weight ? 50 + 7 * i : 13, weight});
    layout.count += (layout.tensors.back().count + 15) / 16 * 16;
  }
  const std::size_t middle = layout.tensors[tensors / 2].begin;
  layout.groups = {{0, middle, 0.1}, {middle, layout.count, 1}};
  return layout;
}

torch::Tensor random_values_of(const ParameterLayout& layout, double scale) {
  auto values = torch::zeros({static_cast<std::int64_t>(layout.count)});
  for (const TensorRange& tensor : layout.tensors) {
    values
        .narrow(0, static_cast<std::int64_t>(tensor.begin), static_cast<std::int64_t>(tensor.count))
        .normal_(0, scale);
  }
  return values;
}

OptimizerOptions options_of(record::Optimizer rule) {
  OptimizerOptions options;
  options.rule = rule;
  options.weight_decay = 0.01;
  return options;
}

class OptimizerOnDevice : public ::testing::TestWithParam<record::OptimizerFacts> {};

TEST_P(OptimizerOnDevice, TakesTheStepsOfTheHostWithoutAWait) {
  torch::manual_seed(3);
  const ParameterLayout layout = layout_of(9);
  Optimizer host(options_of(GetParam().value), layout, torch::kCPU);
  Optimizer device(options_of(GetParam().value), layout, torch::Device(torch::kCUDA, 0));
  const auto ours = random_values_of(layout, 0.5);
  ours.narrow(0, static_cast<std::int64_t>(layout.tensors[2].begin), 64).zero_();
  const auto start = ours.clone(), theirs = ours.to(torch::kCUDA);
  const std::int64_t reports = Ordering::instance().reports();
  const double rate = GetParam().value == record::Optimizer::kLars ? 10 : 0.01;
  for (int step = 0; step < 20; ++step) {
    const auto gradients = random_values_of(layout, 0.1);
    const auto there = gradients.to(torch::kCUDA);
    const std::int64_t waits = Ordering::instance().waits();
    host.step(ours, gradients, rate);
    device.step(theirs, there, rate);
    EXPECT_EQ(Ordering::instance().waits(), waits);
  }
  EXPECT_GT((ours - start).abs().max().item<float>(), 1e-3);
  // Twenty steps of the same operations, rounded in another order.
  EXPECT_TRUE(torch::allclose(ours, theirs.cpu(), 2e-5, 2e-6));
  EXPECT_EQ(Ordering::instance().reports(), reports);
}

TEST_P(OptimizerOnDevice, LaunchesLittleForEachTensor) {
  const auto launches = [](std::size_t tensors) {
    const ParameterLayout layout = layout_of(tensors);
    Optimizer optimizer(options_of(GetParam().value), layout, torch::Device(torch::kCUDA, 0));
    const auto parameters = random_values_of(layout, 1).to(torch::kCUDA);
    const auto gradients = random_values_of(layout, 1).to(torch::kCUDA);
    const std::int64_t before = Counters::instance().operations;
    optimizer.step(parameters, gradients, 0.1);
    return Counters::instance().operations - before;
  };
  // At most one for each tensor that is adapted, which is every second one.
  EXPECT_LE(launches(104) - launches(4), 50);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerOnDevice,
                         ::testing::ValuesIn(record::ChoiceTable<record::Optimizer>::kEntries),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::train
