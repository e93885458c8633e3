#include "lockstep/nets/layers/sync_batch_norm.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "lockstep/nets/layers/batch_norm.h"

namespace lockstep::nets {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

/// Ranks as threads: each adds its values to a common sum.
class ThreadExchange {
 public:
  explicit ThreadExchange(int ranks) : arrival_(ranks), values_(static_cast<std::size_t>(ranks)) {}

  void sum(int rank, std::span<double> values) {
    values_[static_cast<std::size_t>(rank)].assign(values.begin(), values.end());
    arrival_.arrive_and_wait();
    std::fill(values.begin(), values.end(), 0.0);
    for (const auto& other : values_) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += other[i];
    }
    arrival_.arrive_and_wait();
  }

 private:
  std::barrier<> arrival_;
  std::vector<std::vector<double>> values_;
};

class OneRank final : public MomentExchange {
 public:
  OneRank(ThreadExchange& all, int rank) : all_(all), rank_(rank) {}
  void sum(std::span<double> values) override { all_.sum(rank_, values); }

 private:
  ThreadExchange& all_;
  int rank_;
};

nn::BatchNorm2d make_trained_norm(std::int64_t channels) {
  torch::manual_seed(5);
  nn::BatchNorm2d norm(channels);
  const torch::NoGradGuard no_grad;
  norm->weight.uniform_(-1.5, 1.5);
  norm->bias.uniform_(-0.5, 0.5);
  return norm;
}

/// Float sums against double ones.
void expect_same_values(const Tensor& got, const Tensor& reference) {
  ASSERT_EQ(got.sizes(), reference.sizes());
  const double difference = (got.to(torch::kDouble) - reference).abs().max().item<double>();
  EXPECT_LT(difference, 1e-5 * (1 + reference.abs().max().item<double>()));
}

class SyncBatchNormChannels : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(SyncBatchNormChannels, TwoRanksEqualOneBigBatch) {
  const std::int64_t channels = GetParam();
  const auto input = torch::randn({8, channels, 3, 3}) * 2 + 3;
  const auto grad = torch::randn({8, channels, 3, 3});

  auto whole = make_trained_norm(channels);
  whole->to(torch::kDouble);
  auto whole_input = input.to(torch::kDouble).requires_grad_();
  const auto whole_output = torch::relu(whole(whole_input));
  whole_output.backward(grad.to(torch::kDouble));

  // Unequal parts, as the last step of an epoch may have.
  const std::vector<std::pair<std::int64_t, std::int64_t>> parts{{0, 5}, {5, 3}};
  ThreadExchange all(2);
  std::vector<nn::BatchNorm2d> norms{make_trained_norm(channels), make_trained_norm(channels)};
  std::vector<Tensor> inputs(2), outputs(2);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      const auto [begin, count] = parts[r];
      OneRank exchange(all, static_cast<int>(r));
      inputs[r] =
          input.narrow(0, begin, count).clone(torch::MemoryFormat::ChannelsLast).requires_grad_();
      {
        const SyncBatchNormScope scope(exchange);
        outputs[r] = batch_norm_relu(*norms[r], inputs[r]);
      }
      outputs[r].backward(grad.narrow(0, begin, count));
    });
  }
  for (auto& rank : ranks) rank.join();

  expect_same_values(torch::cat({outputs[0], outputs[1]}), whole_output);
  expect_same_values(torch::cat({inputs[0].grad(), inputs[1].grad()}), whole_input.grad());
  // Ranks add up the gradients of parameters afterwards, as those of all others.
  expect_same_values(norms[0]->weight.grad() + norms[1]->weight.grad(), whole->weight.grad());
  expect_same_values(norms[0]->bias.grad() + norms[1]->bias.grad(), whole->bias.grad());
  for (const auto& norm : norms) {
    expect_same_values(norm->running_mean, whole->running_mean);
    expect_same_values(norm->running_var, whole->running_var);
  }
}

// 16 channels go through our own kernels where the CPU has AVX2, 12 through ATen.
INSTANTIATE_TEST_SUITE_P(Channels, SyncBatchNormChannels, ::testing::Values(16, 12));

TEST(SyncBatchNormScope, EndsWithItself) {
  ThreadExchange all(1);
  OneRank exchange(all, 0);
  EXPECT_EQ(current_moment_exchange(), nullptr);
  {
    const SyncBatchNormScope scope(exchange);
    EXPECT_EQ(current_moment_exchange(), &exchange);
    EXPECT_THROW(SyncBatchNormScope{exchange}, std::exception);
  }
  EXPECT_EQ(current_moment_exchange(), nullptr);
}

}  // namespace
}  // namespace lockstep::nets
