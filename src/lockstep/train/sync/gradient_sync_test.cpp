#include "lockstep/train/sync/gradient_sync.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/train/sync/flat_parameters.h"

namespace lockstep::train {
namespace {

namespace nn = torch::nn;

nn::Sequential small_network() {
  torch::manual_seed(7);
  return nn::Sequential(nn::Linear(6, 9), nn::Tanh(), nn::Linear(9, 4), nn::Tanh(),
                        nn::Linear(4, 1));
}

comm::BucketPlan plan_for(const std::vector<torch::Tensor>& parameters, std::uint64_t bucket) {
  return comm::plan_buckets(element_counts(parameters), Bytes{bucket}, 2);
}

/// The gradients that plain autograd gives.
std::vector<torch::Tensor> expected_gradients(const torch::Tensor& input) {
  auto network = small_network();
  network->forward(input).sum().backward();
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : network->parameters()) gradients.push_back(parameter.grad().clone());
  return gradients;
}

torch::Tensor slot(GradientSync& sync, const comm::BucketPlan& plan, const torch::Tensor& like,
                   std::size_t index) {
  return sync.flat()
      .narrow(0, static_cast<std::int64_t>(plan.offset_of[index]), like.numel())
      .view(like.sizes())
      .clone();
}

/// Strategy, bytes of a bucket, and whether gradients are kept as on a GPU.
class GradientSyncStrategy
    : public ::testing::TestWithParam<std::tuple<Strategy, std::uint64_t, bool>> {};

TEST_P(GradientSyncStrategy, SumsTheGradientsOfAllRanks) {
  const auto [strategy, bucket, as_on_device] = GetParam();
  constexpr int kRanks = 3;
  torch::manual_seed(1);
  std::vector<torch::Tensor> inputs;
  for (int r = 0; r < kRanks; ++r) inputs.push_back(torch::randn({5, 6}));
  std::vector<std::vector<torch::Tensor>> expected;
  for (const auto& input : inputs) expected.push_back(expected_gradients(input));
  std::vector<nn::Sequential> networks;
  for (int r = 0; r < kRanks; ++r) networks.push_back(small_network());

  const int fd = ::memfd_create("lockstep-test", MFD_CLOEXEC);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back(
        [&, rank,
         options = SyncOptions{.strategy = strategy, .norm_slot = 1, .as_on_device = as_on_device},
         bucket = bucket] {
          const auto communicator = comm::make_shared_memory(
              {.rank = rank, .size = kRanks, .timeout = Seconds(30), .spin = Seconds(0)}, fd);
          const SystemClock clock;
          const auto parameters = trainable_parameters(*networks[static_cast<std::size_t>(rank)]);
          const auto plan = plan_for(parameters, bucket);
          GradientSync sync(parameters, plan, *communicator, options, clock);
          for (int step = 0; step < 3; ++step) {
            sync.begin_step();
            sync.tail()[0] = static_cast<float>(rank);
            networks[static_cast<std::size_t>(rank)]
                ->forward(inputs[static_cast<std::size_t>(rank)])
                .sum()
                .backward();
            sync.finish();
            // With kCentral only rank 0 has the sums.
            if (options.strategy == Strategy::kCentral && rank != 0) continue;
            EXPECT_EQ(sync.tail()[0], 3.0F);
            double squares = 0;
            for (const auto& of_rank : expected) {
              for (const auto& gradient : of_rank)
                squares += gradient.square().sum().item<double>();
            }
            EXPECT_NEAR(sync.tail()[1], squares, 1e-5 * squares);
            EXPECT_EQ(sync.handed_over().size(), plan.buckets.size());
            for (std::size_t i = 0; i < parameters.size(); ++i) {
              auto sum = expected[0][i].clone();
              for (int r = 1; r < kRanks; ++r) sum += expected[static_cast<std::size_t>(r)][i];
              EXPECT_TRUE(torch::allclose(slot(sync, plan, parameters[i], i), sum, 1e-6, 1e-6));
            }
          }
        });
  }
  for (auto& rank : ranks) rank.join();
  ::close(fd);
}

INSTANTIATE_TEST_SUITE_P(All, GradientSyncStrategy,
                         ::testing::Combine(::testing::Values(Strategy::kOverlap,
                                                              Strategy::kBlocking,
                                                              Strategy::kCentral),
                                            ::testing::Values(1U, 100U, 1'000'000U),
                                            ::testing::Bool()));

TEST(GradientSync, AddsUpTheGradientsOfMicroSteps) {
  torch::manual_seed(1);
  const auto a = torch::randn({5, 6}), b = torch::randn({5, 6});
  const auto expected_a = expected_gradients(a), expected_b = expected_gradients(b);
  auto network = small_network();
  const auto communicator = comm::make_single();
  const SystemClock clock;
  const auto parameters = trainable_parameters(*network);
  const auto plan = plan_for(parameters, 64);
  GradientSync sync(parameters, plan, *communicator, {}, clock);
  sync.begin_step(2);
  network->forward(a).sum().backward();
  EXPECT_TRUE(sync.handed_over().empty());
  network->forward(b).sum().backward();
  sync.finish();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(torch::allclose(slot(sync, plan, parameters[i], i), expected_a[i] + expected_b[i]));
  }
}

TEST(GradientSync, GivesZeroToParametersThatBackwardDoesNotReach) {
  auto used = torch::ones({3}).requires_grad_();
  auto unused = torch::ones({3}).requires_grad_();
  const auto communicator = comm::make_single();
  const SystemClock clock;
  const std::vector<torch::Tensor> parameters{used, unused};
  const auto plan = plan_for(parameters, 1);
  GradientSync sync(parameters, plan, *communicator, {}, clock);
  sync.flat().fill_(42);
  sync.begin_step();
  (used * 2).sum().backward();
  sync.finish();
  EXPECT_TRUE(torch::equal(slot(sync, plan, used, 0), torch::full({3}, 2.0F)));
  EXPECT_TRUE(torch::equal(slot(sync, plan, unused, 1), torch::zeros({3})));
  EXPECT_EQ(sync.handed_over().size(), 2u);
}

TEST(GradientSync, TellsAllRanksOfAnInfinityInTheGradientsOfOne) {
  constexpr int kRanks = 2;
  for (const bool as_on_device : {false, true}) {
    for (const float bad : {0.0F, std::numeric_limits<float>::infinity()}) {
      const int fd = ::memfd_create("lockstep-test", MFD_CLOEXEC);
      std::vector<std::thread> ranks;
      for (int rank = 0; rank < kRanks; ++rank) {
        ranks.emplace_back([&, rank] {
          const auto communicator = comm::make_shared_memory(
              {.rank = rank, .size = kRanks, .timeout = Seconds(30), .spin = Seconds(0)}, fd);
          const SystemClock clock;
          auto parameter = torch::ones({40}).requires_grad_();
          const auto plan = plan_for({parameter}, 1);
          const SyncOptions options{
              .norm_slot = 1, .overflow_slot = 2, .as_on_device = as_on_device};
          GradientSync sync({parameter}, plan, *communicator, options, clock);
          sync.begin_step();
          const float factor = 1 + (rank == 1 ? bad : 0);
          (parameter * factor).sum().backward();
          sync.finish();
          EXPECT_EQ(sync.tail()[2], bad == 0 ? 0.0F : 1.0F);
        });
      }
      for (auto& rank : ranks) rank.join();
      ::close(fd);
    }
  }
}

TEST(GradientSync, AddsToTheTailWhatADeviceComputed) {
  auto parameter = torch::ones({2}).requires_grad_();
  const auto communicator = comm::make_single();
  const SystemClock clock;
  GradientSync sync({parameter}, plan_for({parameter}, 1), *communicator, {.as_on_device = true},
                    clock);
  for (int step = 0; step < 2; ++step) {
    sync.begin_step();
    sync.tail()[0] = 1;
    if (step == 0) sync.add_to_tail(torch::tensor({2.0F, 5.0F}));
    parameter.sum().backward();
    sync.queue_sums();
    sync.queue_results(true);
    sync.read_results();
    EXPECT_EQ(sync.tail()[0], step == 0 ? 3 : 1);
    EXPECT_EQ(sync.tail()[1], step == 0 ? 5 : 0);
    EXPECT_NEAR(sync.sum_squares(), 2, 1e-6);
  }
}

TEST(GradientSync, OtherBucketsSumTheSameGradients) {
  torch::manual_seed(1);
  const auto input = torch::randn({5, 6});
  const auto expected = expected_gradients(input);
  auto network = small_network();
  const auto communicator = comm::make_single();
  const SystemClock clock;
  const auto parameters = trainable_parameters(*network);
  GradientSync sync(parameters, plan_for(parameters, 1), *communicator, {}, clock);
  for (const std::size_t bucket : {1U, 1'000'000U, 100U}) {
    const auto plan = plan_for(parameters, bucket);
    sync.rebucket(plan);
    sync.begin_step();
    network->forward(input).sum().backward();
    sync.finish();
    EXPECT_EQ(sync.handed_over().size(), plan.buckets.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(torch::allclose(slot(sync, plan, parameters[i], i), expected[i]));
    }
  }
}

TEST(GradientSync, AnotherLayoutLeavesNothingBetweenTheGradients) {
  const std::vector<torch::Tensor> parameters{torch::ones({5}, torch::requires_grad()),
                                              torch::ones({40}, torch::requires_grad())};
  const auto communicator = comm::make_single();
  const SystemClock clock;
  auto plan = plan_for(parameters, 1'000);
  SyncOptions options;
  options.views = true;
  GradientSync sync(parameters, plan, *communicator, options, clock);
  sync.begin_step();
  (parameters[0].sum() + parameters[1].sum()).backward();
  sync.finish();
  ASSERT_EQ(plan.offset_of, (std::vector<std::size_t>{48, 0}));
  plan.offset_of = {0, 16};
  sync.relayout(plan);
  EXPECT_EQ(sync.flat().narrow(0, 0, 64).sum().item<float>(), 45);
  EXPECT_EQ(parameters[0].grad().sum().item<float>(), 5);
  EXPECT_EQ(parameters[1].grad().data_ptr<float>(), sync.flat().data_ptr<float>() + 16);
}

TEST(GradientSync, TakesNoGradientOfAParameterWhileItIsFrozen) {
  auto still = torch::ones({2}, torch::requires_grad());
  auto other = torch::ones({2}, torch::requires_grad());
  const auto communicator = comm::make_single();
  const SystemClock clock;
  GradientSync sync({still, other}, plan_for({still, other}, 1), *communicator, {}, clock);
  const auto sums = [&] {
    sync.begin_step();
    (still.sum() + other.sum()).backward();
    sync.finish();
    return std::pair(sync.slot(0).sum().item<float>(), sync.slot(1).sum().item<float>());
  };
  still.set_requires_grad(false);
  EXPECT_EQ(sums(), std::pair(0.0F, 2.0F));
  still.set_requires_grad(true);
  EXPECT_EQ(sums(), std::pair(2.0F, 2.0F));
}

TEST(GradientSync, LeavesGradientsAloneOnceItIsDestroyed) {
  auto parameter = torch::ones({2}).requires_grad_();
  {
    const auto communicator = comm::make_single();
    const SystemClock clock;
    GradientSync sync({parameter}, plan_for({parameter}, 1), *communicator, {}, clock);
  }
  parameter.sum().backward();
  EXPECT_TRUE(torch::equal(parameter.grad(), torch::ones({2})));
}

TEST(FlatParameters, KeepsValuesAndMakesThemViewsOfOneBuffer) {
  auto network = small_network();
  const auto before = network->parameters()[2].detach().clone();
  const auto parameters = trainable_parameters(*network);
  const auto plan = plan_for(parameters, 64);
  FlatParameters flat(parameters, plan);
  EXPECT_TRUE(torch::equal(network->parameters()[2], before));
  for (float& value : flat.values()) value = 0.5F;
  for (const auto& parameter : network->parameters()) {
    EXPECT_TRUE(torch::equal(parameter, torch::full_like(parameter, 0.5F)));
  }
}

}  // namespace
}  // namespace lockstep::train
