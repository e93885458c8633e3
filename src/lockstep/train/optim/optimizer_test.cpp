#include "lockstep/train/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::train {
namespace {

/// Two weights and a bias with gaps between them, as alignment leaves.
const std::vector<TensorRange> kTensors{{0, 1003, true}, {1008, 17, false}, {1040, 2500, true}};
constexpr std::size_t kCount = 3552;
const ParameterLayout kOneRate{{{0, kCount, 1}}, kTensors, kCount};
/// The first weight moves at a tenth of the rate.
const ParameterLayout kTwoRates{{{0, 1008, 0.1}, {1008, kCount, 1}}, kTensors, kCount};

OptimizerOptions options_for(record::Optimizer rule) {
  OptimizerOptions options;
  options.rule = rule;
  options.momentum = 0.9;
  options.weight_decay = 0.01;
  options.beta1 = 0.8;
  options.beta2 = 0.95;
  return options;
}

/// Random where there are tensors, zero in the gaps.
torch::Tensor random_values(Rng& rng, double scale) {
  auto values = torch::zeros({kCount});
  for (const auto& tensor : kTensors) {
    for (std::size_t i = 0; i < tensor.count; ++i) {
      values.data_ptr<float>()[tensor.begin + i] = static_cast<float>(scale * rng.normal());
    }
  }
  return values;
}

/// The papers' formulas, element by element, in double.
class Reference {
 public:
  Reference(OptimizerOptions options, const torch::Tensor& start)
      : o_(std::move(options)),
        p(start.data_ptr<float>(), start.data_ptr<float>() + kCount),
        m_(kCount),
        v_(kCount) {}

  void step(const torch::Tensor& gradients, double rate) {
    ++t_;
    for (const auto& tensor : kTensors) step(tensor, gradients.data_ptr<float>(), rate);
  }

 private:
  void step(const TensorRange& tensor, const float* gradients, double rate) {
    const double bias1 = 1 - std::pow(o_.beta1, t_), bias2 = 1 - std::pow(o_.beta2, t_);
    const bool layered = o_.rule == record::Optimizer::kLars || o_.rule == record::Optimizer::kLamb;
    const double decay = layered && !tensor.adapted ? 0 : o_.weight_decay;
    double p2 = 0, g2 = 0, u2 = 0;
    std::vector<double> u(tensor.count);
    for (std::size_t k = 0; k < tensor.count; ++k) {
      const std::size_t i = tensor.begin + k;
      const double g = gradients[i];
      p2 += p[i] * p[i];
      g2 += g * g;
      if (o_.rule == record::Optimizer::kSgd) u[k] = m_[i] = o_.momentum * m_[i] + g + decay * p[i];
      if (o_.rule == record::Optimizer::kAdam || o_.rule == record::Optimizer::kAdamW ||
          o_.rule == record::Optimizer::kLamb) {
        const double slope = o_.rule == record::Optimizer::kAdam ? g + decay * p[i] : g;
        m_[i] = o_.beta1 * m_[i] + (1 - o_.beta1) * slope;
        v_[i] = o_.beta2 * v_[i] + (1 - o_.beta2) * slope * slope;
        u[k] = m_[i] / bias1 /
               (std::sqrt(v_[i] / bias2) + (o_.rule == record::Optimizer::kLamb ? 1e-6 : 1e-8));
        if (o_.rule != record::Optimizer::kAdam) u[k] += decay * p[i];
      }
      u2 += u[k] * u[k];
    }
    double scale = rate;
    if (o_.rule == record::Optimizer::kLamb && tensor.adapted) scale *= std::sqrt(p2 / u2);
    if (o_.rule == record::Optimizer::kLars) {
      const double local = tensor.adapted
                               ? o_.trust * std::sqrt(p2) / (std::sqrt(g2) + decay * std::sqrt(p2))
                               : o_.trust;
      for (std::size_t k = 0; k < tensor.count; ++k) {
        const std::size_t i = tensor.begin + k;
        u[k] = m_[i] = o_.momentum * m_[i] + rate * local * (gradients[i] + decay * p[i]);
      }
      scale = 1;
    }
    for (std::size_t k = 0; k < tensor.count; ++k) p[tensor.begin + k] -= scale * u[k];
  }

  OptimizerOptions o_;

 public:
  std::vector<double> p;

 private:
  std::vector<double> m_, v_;
  int t_ = 0;
};

/// Large enough that every rule moves its parameters visibly.
double test_rate(const record::OptimizerFacts& facts) {
  return facts.value == record::Optimizer::kLars ? 10 : 0.01;
}

class AnyOptimizer : public ::testing::TestWithParam<record::OptimizerFacts> {
 protected:
  static Optimizer on_host(const ParameterLayout& layout = kOneRate) {
    return {options_for(GetParam().value), layout, torch::kCPU};
  }
  /// As on a GPU: tensor operations.
  static Optimizer in_tensors(const ParameterLayout& layout = kOneRate) {
    return {options_for(GetParam().value), layout, torch::kCPU, true};
  }
};

TEST_P(AnyOptimizer, FollowsItsFormulaInDoublePrecision) {
  Rng rng(3);
  auto parameters = random_values(rng, 0.5);
  Reference reference(options_for(GetParam().value), parameters);
  Optimizer optimizer = on_host();
  for (int step = 0; step < 50; ++step) {
    const auto gradients = random_values(rng, 0.1);
    const double rate = test_rate(GetParam()) * (1 + step % 5);
    optimizer.step(parameters, gradients, rate);
    reference.step(gradients, rate);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    // Fifty roundings to 24 bits of values around one.
    ASSERT_NEAR(parameters.data_ptr<float>()[i], reference.p[i],
                2e-5 * (1 + std::abs(reference.p[i])))
        << i;
  }
}

TEST_P(AnyOptimizer, TakesTheSameStepsInTensorOperations) {
  Rng rng(7);
  Optimizer host = on_host(kTwoRates), tensors = in_tensors(kTwoRates);
  const auto ours = random_values(rng, 0.5), theirs = ours.clone();
  for (int step = 0; step < 30; ++step) {
    const auto gradients = random_values(rng, 0.1);
    const double rate = test_rate(GetParam()) * (1 + step % 5);
    host.step(ours, gradients, rate);
    tensors.step(theirs, gradients, rate);
  }
  EXPECT_FALSE(torch::allclose(ours, torch::zeros_like(ours)));
  // Thirty steps of the same operations, rounded in another order.
  EXPECT_TRUE(torch::allclose(ours, theirs, 2e-5, 2e-6));
  EXPECT_EQ(tensors.steps(), 30);
  const auto state = host.state(), other = tensors.state();
  ASSERT_EQ(state.size(), other.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(state[i].name, other[i].name);
    EXPECT_TRUE(torch::allclose(state[i].values, other[i].values, 1e-4, 1e-6)) << state[i].name;
  }
}

TEST_P(AnyOptimizer, MovesEachGroupAtItsRate) {
  Rng rng(8);
  const auto start = random_values(rng, 0.5), gradients = random_values(rng, 0.1);
  const auto grouped = start.clone(), slow = start.clone(), fast = start.clone();
  const double rate = test_rate(GetParam());
  on_host(kTwoRates).step(grouped, gradients, rate);
  on_host().step(slow, gradients, rate * 0.1);
  on_host().step(fast, gradients, rate);
  EXPECT_TRUE(torch::equal(grouped.narrow(0, 0, 1008), slow.narrow(0, 0, 1008)));
  EXPECT_TRUE(
      torch::equal(grouped.narrow(0, 1008, kCount - 1008), fast.narrow(0, 1008, kCount - 1008)));
}

TEST_P(AnyOptimizer, LeavesTheGapsBetweenTensorsAtZero) {
  for (Optimizer optimizer : {on_host(), in_tensors()}) {
    Rng rng(4);
    auto parameters = random_values(rng, 1);
    for (int step = 0; step < 3; ++step) optimizer.step(parameters, random_values(rng, 1), 0.1);
    for (const std::size_t gap : {1003u, 1007u, 1025u, 1039u, 3540u, 3551u}) {
      EXPECT_EQ(parameters.data_ptr<float>()[gap], 0);
      for (const auto& state : optimizer.state()) {
        EXPECT_EQ(state.values.data_ptr<float>()[gap], 0);
      }
    }
  }
}

TEST_P(AnyOptimizer, ContinuesBitForBitFromItsState) {
  Rng rng(5);
  auto parameters = random_values(rng, 1);
  Optimizer whole = on_host(), resumed = on_host();
  for (int step = 0; step < 7; ++step) whole.step(parameters, random_values(rng, 1), 0.01);
  resumed.set_steps(whole.steps());
  const auto from = whole.state(), to = resumed.state();
  ASSERT_FALSE(from.empty());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name, to[i].name);
    to[i].values.copy_(from[i].values);
  }
  auto copy = parameters.clone();
  const auto gradients = random_values(rng, 1);
  whole.step(parameters, gradients, 0.01);
  resumed.step(copy, gradients, 0.01);
  EXPECT_TRUE(torch::equal(copy, parameters));
}

TEST_P(AnyOptimizer, DoesNotMoveWhereAllIsZero) {
  for (Optimizer optimizer : {on_host(), in_tensors()}) {
    auto parameters = torch::zeros({kCount});
    optimizer.step(parameters, torch::zeros({kCount}), 1);
    EXPECT_TRUE(torch::equal(parameters, torch::zeros({kCount})));
  }
}

INSTANTIATE_TEST_SUITE_P(All, AnyOptimizer,
                         ::testing::ValuesIn(record::ChoiceTable<record::Optimizer>::kEntries),
                         [](const auto& info) { return std::string(info.param.name); });

using TorchOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(torch::Tensor)>;

void expect_torchs_steps(record::Optimizer rule, const TorchOptimizer& make) {
  Rng rng(6);
  auto ours = random_values(rng, 0.5);
  auto theirs = ours.clone().requires_grad_();
  const auto reference = make(theirs);
  Optimizer optimizer(options_for(rule), kOneRate, torch::kCPU);
  for (int step = 0; step < 20; ++step) {
    const auto gradients = random_values(rng, 0.1);
    theirs.mutable_grad() = gradients.clone();
    reference->step();
    optimizer.step(ours, gradients, 0.02);
  }
  // The same operations; a compiler may contract a multiplication with an addition, which rounds
  // once instead of twice.
  EXPECT_TRUE(torch::allclose(ours, theirs.detach(), 1e-5, 1e-6));
}

TEST(OptimizersOfTorch, SgdTakesTheSameSteps) {
  expect_torchs_steps(record::Optimizer::kSgd, [](torch::Tensor p) {
    return std::make_unique<torch::optim::SGD>(
        std::vector{p}, torch::optim::SGDOptions(0.02).momentum(0.9).weight_decay(0.01));
  });
}

TEST(OptimizersOfTorch, AdamTakesTheSameSteps) {
  expect_torchs_steps(record::Optimizer::kAdam, [](torch::Tensor p) {
    return std::make_unique<torch::optim::Adam>(
        std::vector{p},
        torch::optim::AdamOptions(0.02).betas({0.8, 0.95}).weight_decay(0.01).eps(1e-8));
  });
}

TEST(OptimizersOfTorch, AdamWTakesTheSameSteps) {
  expect_torchs_steps(record::Optimizer::kAdamW, [](torch::Tensor p) {
    return std::make_unique<torch::optim::AdamW>(
        std::vector{p},
        torch::optim::AdamWOptions(0.02).betas({0.8, 0.95}).weight_decay(0.01).eps(1e-8));
  });
}

TEST(OptimizerRules, HaveBothFunctionsAndOneOrTwoStateBuffers) {
  for (const auto& facts : record::ChoiceTable<record::Optimizer>::kEntries) {
    const OptimizerRule rule = make_rule(facts.value);
    EXPECT_TRUE(rule.host && rule.device) << facts.name;
    EXPECT_TRUE(rule.state.size() == 1 || rule.state.size() == 2) << facts.name;
  }
}

TEST(Optimizer, RefusesOptionsOutOfRange) {
  auto options = options_for(record::Optimizer::kAdam);
  options.beta2 = 1;
  EXPECT_THROW(Optimizer(options, kOneRate, torch::kCPU), Error);
  options.beta2 = 0.9;
  options.momentum = 1;
  EXPECT_THROW(Optimizer(options, kOneRate, torch::kCPU, true), Error);
}

/// Optimizers that divide parameters and state of several blocks among them.
class DividedOptimizer : public ::testing::TestWithParam<record::Optimizer> {};

TEST_P(DividedOptimizer, TakesTheStepsOfAWholeOneBitForBit) {
  constexpr std::size_t kFloats = 7 * comm::kShareBlock + 48, kSlow = 3 * comm::kShareBlock + 1008;
  constexpr int kRanks = 3;
  const auto floats = static_cast<std::int64_t>(kFloats);
  ParameterLayout layout{{{0, kSlow, 0.1}, {kSlow, kFloats, 1}}, {}, kFloats};
  const OptimizerOptions options = options_for(GetParam());
  Optimizer whole(options, layout, torch::kCPU);
  std::vector<torch::Tensor> common;
  std::vector<Optimizer> divided;
  for (int rank = 0; rank < kRanks; ++rank) {
    layout.share = {rank, kRanks};
    std::size_t next = 0;
    divided.emplace_back(options, layout, torch::kCPU, false, [&] {
      if (next == common.size()) common.push_back(torch::zeros({floats}));
      return common[next++];
    });
  }
  const auto ours = torch::randn({floats}), theirs = ours.clone();
  for (int step = 0; step < 5; ++step) {
    const auto gradients = torch::randn({floats});
    whole.step(ours, gradients, 0.01);
    for (Optimizer& one : divided) one.step(theirs, gradients, 0.01);
    ASSERT_TRUE(torch::equal(ours, theirs));
  }
  const auto state = whole.state();
  ASSERT_EQ(state.size(), common.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_TRUE(torch::equal(state[i].values, common[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(RulesByElement, DividedOptimizer,
                         ::testing::Values(record::Optimizer::kSgd, record::Optimizer::kAdam,
                                           record::Optimizer::kAdamW));

}  // namespace
}  // namespace lockstep::train
