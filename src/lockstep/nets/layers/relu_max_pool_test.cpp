#include "lockstep/nets/layers/relu_max_pool.h"

#include <gtest/gtest.h>

namespace lockstep::nets {
namespace {

torch::Tensor pool_reference(const torch::Tensor& input) {
  return torch::max_pool2d(torch::relu(input), 2);
}

/// Forward and gradient of both, on the same input.
void expect_same_as_aten(torch::Tensor input) {
  auto ours_in = input.detach().clone(torch::MemoryFormat::Preserve).requires_grad_();
  auto aten_in = input.detach().clone(torch::MemoryFormat::Preserve).requires_grad_();
  const auto ours = relu_max_pool(ours_in);
  const auto aten = pool_reference(aten_in);
  ASSERT_TRUE(torch::equal(ours, aten));
  const auto weights = torch::randn(aten.sizes());
  (ours * weights).sum().backward();
  (aten * weights).sum().backward();
  EXPECT_TRUE(torch::equal(ours_in.grad(), aten_in.grad()));
}

TEST(ReluMaxPool, EqualsAtenForChannelsLast) {
  torch::manual_seed(1);
  for (const auto& [n, c, h, w] :
       {std::tuple{1, 8, 2, 2}, {3, 24, 14, 14}, {2, 8, 28, 28}, {5, 40, 6, 10}}) {
    expect_same_as_aten(torch::randn({n, c, h, w}).contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

TEST(ReluMaxPool, SendsTheGradientOfTiesToTheFirstElement) {
  // Small integers: most windows have ties, many are all negative or zero.
  torch::manual_seed(2);
  expect_same_as_aten(torch::randint(-2, 3, {4, 16, 8, 8})
                          .to(torch::kFloat)
                          .contiguous(torch::MemoryFormat::ChannelsLast));
}

TEST(ReluMaxPool, TakesOtherLayoutsAndSizesToo) {
  torch::manual_seed(3);
  expect_same_as_aten(torch::randn({2, 8, 4, 4}));
  expect_same_as_aten(torch::randn({2, 3, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast));
  expect_same_as_aten(torch::randn({2, 8, 5, 7}).contiguous(torch::MemoryFormat::ChannelsLast));
}

}  // namespace
}  // namespace lockstep::nets
