#include "lockstep/train/trainer/learner.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "lockstep/comm/backends/shm/shared_memory.h"

namespace lockstep::train {
namespace {

namespace nn = torch::nn;

/// Parameters of several blocks, and a bias that is no multiple of a cache line.
nn::Sequential network_of_blocks() {
  torch::manual_seed(7);
  return nn::Sequential(nn::Linear(200, 301), nn::Tanh(), nn::Linear(301, 170), nn::Tanh(),
                        nn::Linear(170, 1));
}

record::RunSpec spec_for(record::Optimizer optimizer, Strategy strategy, int ranks) {
  record::RunSpec spec;
  spec.optimizer = optimizer;
  spec.strategy = strategy;
  spec.workers = ranks;
  spec.batch_per_worker = 4;
  spec.bucket_bytes = 20'000;
  spec.momentum = 0.9;
  spec.weight_decay = 0.01;
  spec.beta1 = 0.9;
  spec.beta2 = 0.99;
  return spec;
}

/// Runs `body` on each rank, a thread, with a network and a learner of its own.
void with_learners(
    const record::RunSpec& spec,
    const std::function<void(nn::Sequential&, Learner&, comm::Communicator&)>& body) {
  const int fd = ::memfd_create("lockstep-test", MFD_CLOEXEC);
  std::vector<nn::Sequential> networks;
  for (int rank = 0; rank < spec.workers; ++rank) networks.push_back(network_of_blocks());
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < spec.workers; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto communicator = comm::make_shared_memory(
          {.rank = rank, .size = spec.workers, .timeout = Seconds(30), .spin = Seconds(0)}, fd);
      const SystemClock clock;
      nn::Sequential& network = networks[static_cast<std::size_t>(rank)];
      Learner learner(
          *network, spec, *communicator, clock, [](const std::string&) { return 1.0; }, "", 0);
      communicator->barrier();
      body(network, learner, *communicator);
      communicator->barrier();
    });
  }
  for (auto& rank : ranks) rank.join();
  ::close(fd);
}

struct Trained {
  std::vector<float> parameters;
  std::vector<torch::Tensor> state;
  std::map<std::string, double> figures;
};

/// Six steps on examples of the rank's own; as rank 0 has them afterwards.
Trained trained(const record::RunSpec& spec) {
  Trained result;
  with_learners(spec, [&](nn::Sequential& network, Learner& learner, comm::Communicator& ranks) {
    auto random = at::detail::createCPUGenerator(static_cast<std::uint64_t>(ranks.rank()));
    for (int step = 0; step < 6; ++step) {
      learner.begin_step(1);
      const auto input = torch::randn({4, 200}, random);
      const auto loss = network->forward(input).square().mean() / ranks.size();
      StepShare share;
      share.examples = 4;
      share.global = 4 * ranks.size();
      share.loss_sum.add(loss, 4);
      learner.publish(share);
      loss.backward();
      learner.hand_over();
      learner.queue_sum();
      learner.queue_results();
      learner.queue_update(0.01);
      learner.read_results();
      EXPECT_TRUE(learner.share_parameters(false));
    }
    const auto mine = learner.parameters();
    const auto all = ranks.gather_all<float>(std::span<const float>(mine));
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], mine[i % mine.size()]);
    if (ranks.rank() == 0) {
      result.parameters.assign(mine.begin(), mine.end());
      for (const auto& entry : learner.optimizer_tensors()) {
        result.state.push_back(entry.tensor.clone());
      }
      result.figures = learner.figures();
    }
  });
  return result;
}

using RulesAndRanks = std::tuple<record::Optimizer, int>;
class DividedUpdate : public ::testing::TestWithParam<RulesAndRanks> {};

TEST_P(DividedUpdate, GivesTheBitsOfOneRankThatUpdatesAll) {
  const auto [optimizer, ranks] = GetParam();
  // With kCentral rank 0 sums in rank order, updates everything and sends it.
  const Trained central = trained(spec_for(optimizer, Strategy::kCentral, ranks));
  for (const Strategy strategy : {Strategy::kOverlap, Strategy::kBlocking}) {
    const Trained divided = trained(spec_for(optimizer, strategy, ranks));
    EXPECT_EQ(divided.parameters, central.parameters);
    ASSERT_EQ(divided.state.size(), central.state.size());
    for (std::size_t i = 0; i < divided.state.size(); ++i) {
      EXPECT_TRUE(torch::equal(divided.state[i], central.state[i])) << i;
    }
    ASSERT_EQ(divided.figures.size(), central.figures.size());
    for (const auto& [name, value] : central.figures) {
      // Sums of the same squares in another order.
      EXPECT_NEAR(divided.figures.at(name), value, 1e-9 * (1 + std::abs(value))) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, DividedUpdate,
    ::testing::Combine(::testing::Values(record::Optimizer::kSgd, record::Optimizer::kAdam,
                                         record::Optimizer::kAdamW, record::Optimizer::kLars,
                                         record::Optimizer::kLamb),
                       ::testing::Values(2, 3, 4)));

/// Whether rank 1 reads in its own network what rank 0 writes to its parameters.
bool have_common_parameters(const record::RunSpec& spec) {
  bool common = false;
  with_learners(spec, [&](nn::Sequential& network, Learner& learner, comm::Communicator& ranks) {
    const torch::NoGradGuard no_grad;
    if (ranks.rank() == 0) {
      for (float& value : learner.parameters()) value = 42;
    }
    ranks.barrier();
    if (ranks.rank() == 1) {
      const auto weight = network->parameters()[0];
      common = torch::equal(weight, torch::full_like(weight, 42));
    }
  });
  return common;
}

TEST(Learner, RanksOfAHostHaveTheirParametersOnce) {
  EXPECT_TRUE(have_common_parameters(spec_for(record::Optimizer::kSgd, Strategy::kOverlap, 2)));
  EXPECT_TRUE(have_common_parameters(spec_for(record::Optimizer::kAdam, Strategy::kBlocking, 3)));
}

TEST(Learner, RanksThatUpdateByThemselvesHaveTheirOwnParameters) {
  EXPECT_FALSE(have_common_parameters(spec_for(record::Optimizer::kSgd, Strategy::kCentral, 2)));
  EXPECT_FALSE(have_common_parameters(spec_for(record::Optimizer::kSgd, Strategy::kLocal, 2)));
  EXPECT_FALSE(have_common_parameters(spec_for(record::Optimizer::kLamb, Strategy::kOverlap, 2)));
}

}  // namespace
}  // namespace lockstep::train
