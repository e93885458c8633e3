#include "lockstep/nets/layers/sync_batch_norm.h"

#include <gtest/gtest.h>

#include "ordering.h"

namespace lockstep::nets {
namespace {

/// Of a rank that is alone.
class OneRank final : public MomentExchange {
 public:
  void sum(std::span<double>) override {}
};

TEST(SyncBatchNormOnDevice, ComputesWhatOneBatchNormDoes) {
  const torch::Device gpu(torch::kCUDA, 0);
  const std::int64_t reports = device_double::Ordering::instance().reports();
  torch::nn::BatchNorm2d plain(3), synchronous(3);
  synchronous->to(gpu);
  auto input = torch::randn({4, 3, 5, 5}).requires_grad_();
  auto there = input.detach().to(gpu).requires_grad_();
  const auto expected = plain->forward(input);
  expected.pow(3).sum().backward();
  OneRank alone;
  const auto output = sync_batch_norm(*synchronous, there, alone);
  output.pow(3).sum().backward();
  // Sums in another order, of a hundred numbers.
  const auto expect_close = [](const torch::Tensor& ours, const torch::Tensor& theirs) {
    EXPECT_TRUE(torch::allclose(ours.cpu(), theirs, 1e-4, 1e-5));
  };
  expect_close(output.detach(), expected.detach());
  expect_close(there.grad(), input.grad());
  expect_close(synchronous->weight.grad(), plain->weight.grad());
  expect_close(synchronous->running_var, plain->running_var);
  EXPECT_EQ(device_double::Ordering::instance().reports(), reports);
}

}  // namespace
}  // namespace lockstep::nets
