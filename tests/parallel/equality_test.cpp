#include <tuple>

#include "parallel_run.h"
#include "parameter_distance.h"

namespace lockstep {
namespace {

constexpr int kGlobalBatch = 64;

using Case = std::tuple<int, const char*, const char*>;

class Equality : public ParallelRun, public ::testing::WithParamInterface<Case> {
 protected:
  train::Checkpoint parameters_after_20_steps(int workers, std::vector<std::string> more) {
    const std::string checkpoints = folder("checkpoints-" + std::to_string(workers));
    more.insert(more.end(), {"--steps", "20", "--lr", "0.05", "--checkpoint", checkpoints});
    run_to_success(train(workers, kGlobalBatch / workers, more));
    auto newest = train::CheckpointFolder(checkpoints).read_newest();
    EXPECT_TRUE(newest.has_value());
    EXPECT_EQ(newest->position.total, 20);
    return *newest;
  }
};

TEST_P(Equality, NWorkersWithBatchBEqualOneWorkerWithBatchNB) {
  const auto [workers, strategy, backend] = GetParam();
  const auto one = parameters_after_20_steps(1, {});
  const auto many = parameters_after_20_steps(
      workers, {"--strategy", strategy, "--backend", backend, "--check-ranks"});
  // Both add up the same products in another order: each gradient differs by a few units in the
  // last place (6e-8), and 20 steps with momentum let that grow about a hundredfold.
  EXPECT_LT(distance(one, many), 1e-5);
  EXPECT_GT(distance(one, many), 0) << "the two runs did not take different paths";
}

INSTANTIATE_TEST_SUITE_P(All, Equality,
                         ::testing::Combine(::testing::Values(2, 4),
                                            ::testing::Values("overlap", "blocking", "central"),
                                            ::testing::Values("shm", "gloo")),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           return std::to_string(std::get<0>(info.param)) + "Workers_" +
                                  std::get<1>(info.param) + "_" + std::get<2>(info.param);
                         });

TEST_F(ParallelRun, BucketSizeDoesNotChangeTheResult) {
  const auto large = run_to_success(train(2, 32, {"--steps", "10"}));
  const auto small = run_to_success(train(2, 32, {"--steps", "10", "--bucket", "1kB"}));
  EXPECT_EQ(digest_of(large), digest_of(small));
}

/// With central rank 0 updates everything alone, from sums in the same order. A large network: the
/// update of a small one is not divided.
TEST_F(ParallelRun, RanksThatDivideTheUpdateEndWithTheBitsOfOneThatDoesItAlone) {
  for (const char* optimizer : {"sgd", "adamw"}) {
    const std::vector<std::string> options{
        "--data",  "synthetic",       "--steps",      "3", "--no-augment", "--optimizer",
        optimizer, "--no-validation", "--accumulate", "2", "--check-ranks"};
    auto alone = options;
    alone.insert(alone.end(), {"--strategy", "central"});
    const auto central = run_to_success(train_recipe("cifar-resnet18", 2, 2, alone));
    const auto divided = run_to_success(train_recipe("cifar-resnet18", 2, 2, options));
    EXPECT_EQ(digest_of(divided), digest_of(central)) << optimizer;
  }
}

TEST_F(ParallelRun, PhasesOfEveryStepAddUpOnEveryRank) {
  const auto captured = run_to_success(train(2, 32, {"--steps", "12"}));
  std::size_t steps = 0;
  for (const auto& block : events<record::StepBlock>(captured.output)) {
    for (const auto& step : block.steps) {
      double sum = 0;
      for (double phase : step.phase_s) {
        EXPECT_GE(phase, 0);
        sum += phase;
      }
      EXPECT_NEAR(sum, step.total_s, 1e-7);
      EXPECT_GT(step[record::Phase::kForward], 0);
      EXPECT_GT(step[record::Phase::kBackward], 0);
      EXPECT_EQ(step.examples, 32);
      ++steps;
    }
  }
  EXPECT_EQ(steps, 24u);
}

}  // namespace
}  // namespace lockstep
