#include "lockstep/train/sgd.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep::train {
namespace {

TEST(SgdStep, FollowsTorchsSgd) {
  torch::manual_seed(1);
  constexpr std::int64_t kCount = 1003;
  auto theirs = torch::randn({kCount}).requires_grad_();
  auto ours = theirs.detach().clone();
  std::vector<float> velocity(kCount);
  torch::optim::SGD optimizer({theirs},
                              torch::optim::SGDOptions(0.1).momentum(0.9).weight_decay(5e-4));
  for (int step = 0; step < 20; ++step) {
    const auto gradient = torch::randn({kCount});
    theirs.mutable_grad() = gradient.clone();
    optimizer.step();
    sgd_step({ours.data_ptr<float>(), kCount}, {gradient.data_ptr<float>(), kCount}, velocity,
             {.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 5e-4F});
  }
  // The same operations; a compiler may contract a multiplication with an addition, which rounds
  // once instead of twice.
  EXPECT_TRUE(torch::allclose(ours, theirs.detach(), 1e-5, 1e-6));
}

}  // namespace
}  // namespace lockstep::train
