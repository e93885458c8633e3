#include "lockstep/nets/networks/fashion_net.h"

#include <gtest/gtest.h>

namespace lockstep::nets {
namespace {

TEST(FashionNet, HasTheStatedNumberOfParameters) {
  // 8*9+8 + 24*8*9+24 + 24*49*128+128 + 128*10+10
  EXPECT_EQ(FashionNet().parameter_count(), 153'778);
}

TEST(FashionNet, EqualsTheSameLayersOfAten) {
  torch::manual_seed(4);
  FashionNet net;
  const auto images = torch::randn({5, 1, 28, 28});
  const auto p = net.named_parameters();
  auto x = torch::max_pool2d(
      torch::relu(torch::conv2d(images, p["conv1.weight"], p["conv1.bias"], 1, 1)), 2);
  x = torch::max_pool2d(torch::relu(torch::conv2d(x, p["conv2.weight"], p["conv2.bias"], 1, 1)), 2);
  x = x.permute({0, 2, 3, 1}).flatten(1);
  x = torch::relu(torch::linear(x, p["hidden.weight"], p["hidden.bias"]));
  const auto expected = torch::linear(x, p["scores.weight"], p["scores.bias"]);
  // Another order of additions inside the convolutions: some units in the last place.
  EXPECT_TRUE(torch::allclose(net.forward(images), expected, 1e-5, 1e-5));
}

}  // namespace
}  // namespace lockstep::nets
