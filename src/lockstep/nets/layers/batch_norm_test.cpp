#include "lockstep/nets/layers/batch_norm.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace lockstep::nets {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

constexpr auto kLast = torch::MemoryFormat::ChannelsLast;

struct NormCase {
  std::int64_t images, channels, size;
  bool residual, relu;
};

nn::BatchNorm2d make_norm(std::int64_t channels, std::optional<double> momentum = 0.1) {
  auto options = nn::BatchNorm2dOptions(channels);
  options.momentum(momentum ? c10::optional<double>(*momentum) : c10::nullopt);
  nn::BatchNorm2d norm(options);
  const torch::NoGradGuard no_grad;
  norm->weight.uniform_(-1.5, 1.5);
  norm->bias.uniform_(-0.5, 0.5);
  return norm;
}

/// What the fused functions compute, from ATen's parts.
Tensor separately(nn::BatchNorm2d norm, const Tensor& input, const Tensor& residual, bool relu) {
  auto output = norm(input);
  if (residual.defined()) output = output + residual;
  return relu ? torch::relu(output) : output;
}

Tensor fused(nn::BatchNorm2d norm, const Tensor& input, const Tensor& residual, bool relu) {
  return relu ? batch_norm_relu(*norm, input, residual) : batch_norm(*norm, input);
}

nn::BatchNorm2d copy_of(const nn::BatchNorm2d& norm, torch::Dtype type) {
  nn::BatchNorm2d copy(norm->options);
  copy->to(type);
  const torch::NoGradGuard no_grad;
  const auto from = norm->parameters(), to = copy->parameters();
  for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  const auto from_buffers = norm->buffers(), to_buffers = copy->buffers();
  for (std::size_t i = 0; i < from_buffers.size(); ++i) to_buffers[i].copy_(from_buffers[i]);
  return copy;
}

/// Float sums over thousands of values against double ones: about 1e-6 of the largest value.
void expect_close(const Tensor& got, const Tensor& reference) {
  ASSERT_EQ(got.sizes(), reference.sizes());
  const double difference = (got.to(torch::kDouble) - reference).abs().max().item<double>();
  EXPECT_LT(difference, 1e-5 * (1 + reference.abs().max().item<double>()));
}

class BatchNormCases : public ::testing::TestWithParam<NormCase> {};

TEST_P(BatchNormCases, OutputsGradientsAndRunningAveragesMatchAtenInDouble) {
  torch::manual_seed(3);
  const auto& c = GetParam();
  auto norm = make_norm(c.channels), exact = copy_of(norm, torch::kDouble);
  const std::vector<std::int64_t> sizes{c.images, c.channels, c.size, c.size};
  auto input = (torch::randn(sizes) * 2 + 3).contiguous(kLast).requires_grad_();
  auto residual = c.residual ? torch::randn(sizes).contiguous(kLast).requires_grad_() : Tensor();
  auto exact_input = input.detach().to(torch::kDouble).requires_grad_();
  auto exact_residual =
      c.residual ? residual.detach().to(torch::kDouble).requires_grad_() : Tensor();
  for (int step = 0; step < 2; ++step) {
    const auto output = fused(norm, input, residual, c.relu);
    const auto expected = separately(exact, exact_input, exact_residual, c.relu);
    expect_close(output, expected);
    const auto grad = torch::randn(sizes);
    output.backward(grad);
    expected.backward(grad.to(torch::kDouble));
  }
  expect_close(input.grad(), exact_input.grad());
  if (c.residual) expect_close(residual.grad(), exact_residual.grad());
  expect_close(norm->weight.grad(), exact->weight.grad());
  expect_close(norm->bias.grad(), exact->bias.grad());
  expect_close(norm->running_mean, exact->running_mean);
  expect_close(norm->running_var, exact->running_var);
  EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 2);
}

TEST_P(BatchNormCases, EvaluationUsesTheRunningAverages) {
  const auto& c = GetParam();
  auto norm = make_norm(c.channels);
  norm->running_mean.uniform_(-1, 1);
  norm->running_var.uniform_(0.5, 2);
  norm->eval();
  const std::vector<std::int64_t> sizes{c.images, c.channels, c.size, c.size};
  const auto input = torch::randn(sizes).contiguous(kLast);
  const auto residual = c.residual ? torch::randn(sizes).contiguous(kLast) : Tensor();
  const auto expected = separately(norm, input, residual, c.relu);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::allclose(fused(norm, input, residual, c.relu), expected, 1e-5, 1e-5));
  EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 0);
}

// 12 channels and a single value per channel are handled by ATen.
INSTANTIATE_TEST_SUITE_P(
    Cases, BatchNormCases,
    ::testing::Values(NormCase{4, 64, 8, false, true}, NormCase{4, 64, 8, true, true},
                      NormCase{2, 16, 5, false, false}, NormCase{3, 8, 1, true, true},
                      NormCase{2, 12, 4, true, true}, NormCase{8, 512, 4, true, true}));

TEST(BatchNorm, WithoutMomentumKeepsTheAverageOfAllBatches) {
  auto norm = make_norm(16, std::nullopt), exact = copy_of(norm, torch::kDouble);
  for (int step = 0; step < 3; ++step) {
    const auto input = torch::randn({4, 16, 3, 3}).contiguous(kLast);
    batch_norm(*norm, input);
    exact(input.to(torch::kDouble));
  }
  expect_close(norm->running_mean, exact->running_mean);
  expect_close(norm->running_var, exact->running_var);
}

TEST(BatchNorm, GradientReachesTheResidualThroughFrozenNorm) {
  auto norm = make_norm(16);
  norm->weight.set_requires_grad(false);
  norm->bias.set_requires_grad(false);
  const auto input = torch::randn({4, 16, 3, 3}).contiguous(kLast);
  auto residual = torch::randn({4, 16, 3, 3}).contiguous(kLast).requires_grad_();
  const auto output = batch_norm_relu(*norm, input, residual);
  output.sum().backward();
  EXPECT_TRUE(torch::equal(residual.grad(), (output > 0).to(torch::kFloat)));
}

TEST(BatchNorm, RefusesToTrainOnOneValueAChannelAsAtenDoes) {
  auto norm = make_norm(16);
  EXPECT_THROW(batch_norm(*norm, torch::randn({1, 16, 1, 1}).contiguous(kLast)), std::exception);
}

}  // namespace
}  // namespace lockstep::nets
