#include "program_runs.h"

namespace lockstep {
namespace {

using DataParallelTest = ProgramRuns;
using Words = std::vector<std::string>;

/// Sums in another order: rounding of 32-bit floats over 50 steps. Values are at most about 2.
constexpr double kRounding = 2e-5;

void expect_the_parameters_of_one_rank(const Words& words, double tolerance = kRounding) {
  class Access : public ProgramRuns {
   public:
    using ProgramRuns::distance;
    using ProgramRuns::numbers;
    using ProgramRuns::run;
    void TestBody() override {}
  };
  const auto one = Access::run(1, words);
  for (const int ranks : {2, 4}) {
    const auto several = Access::run(ranks, words);
    EXPECT_LT(
        Access::distance(Access::numbers(one, "parameter"), Access::numbers(several, "parameter")),
        tolerance)
        << ranks << " ranks";
    EXPECT_LT(Access::distance(Access::numbers(one, "loss"), Access::numbers(several, "loss")),
              tolerance);
    EXPECT_NE(several.output.find("ranks differ by 0.000000"), std::string::npos) << several.output;
    EXPECT_NE(several.output.find("backend shm"), std::string::npos) << several.output;
  }
}

TEST_F(DataParallelTest, EndsWithTheParametersOfOneRankWithTheGlobalBatch) {
  expect_the_parameters_of_one_rank({"optimizer=sgd"});
}

TEST_F(DataParallelTest, TakesTheSameStepsWhereGradientsBecomeNone) {
  for (const char* more : {"accumulate=1", "accumulate=2"}) {
    const auto zeros = numbers(run(2, {more}), "parameter");
    EXPECT_EQ(distance(zeros, numbers(run(2, {more, "none=1"}), "parameter")), 0) << more;
  }
}

TEST_F(DataParallelTest, DoesSoWithAdamAccumulationAndAFrozenLayer) {
  // Adam divides by the root of second moments, which magnifies rounding where they are small.
  expect_the_parameters_of_one_rank({"optimizer=adam", "accumulate=2", "frozen=1"}, 2e-4);
}

TEST_F(DataParallelTest, DoesSoWithAShardedOptimizer) {
  expect_the_parameters_of_one_rank({"optimizer=adam", "sharded=1"}, 2e-4);
  const auto plain = numbers(run(2, {"optimizer=adam"}), "parameter");
  const auto sharded = numbers(run(2, {"optimizer=adam", "sharded=1"}), "parameter");
  EXPECT_EQ(distance(plain, sharded), 0) << "the same gradients give the same bits";
}

TEST_F(DataParallelTest, DoesSoWithAnOptimizerOfItsOwn) {
  expect_the_parameters_of_one_rank({"optimizer=fused-adam"}, 2e-4);
  const auto theirs = numbers(run(2, {"optimizer=adam"}), "parameter");
  const auto ours = numbers(run(2, {"optimizer=fused-adam"}), "parameter");
  EXPECT_LT(distance(theirs, ours), 2e-4);
  const auto sharded = numbers(run(2, {"optimizer=fused-adam", "sharded=1"}), "parameter");
  EXPECT_EQ(distance(ours, sharded), 0);
}

TEST_F(DataParallelTest, OwnOptimizersTakeTheStepsOfLibTorchs) {
  const auto captured = run(1, {"do=optimizers"});
  EXPECT_EQ(count(captured.output, " agree\n"), 12U) << captured.output << captured.errors;
}

TEST_F(DataParallelTest, CutsGradientsIntoSeveralBuckets) {
  EXPECT_NE(run(2, {"steps=3"}).output.find("buckets 2"), std::string::npos);
}

TEST_F(DataParallelTest, GivesAllRanksTheBuffersOfRankZero) {
  const auto captured = run(2, {"norm=1", "steps=5"});
  EXPECT_NE(captured.output.find("ranks differ by 0.000000"), std::string::npos)
      << captured.output << captured.errors;
}

TEST_F(DataParallelTest, TakesPartWithParametersThatSomeRanksDoNotUse) {
  const auto loose = numbers(run(2, {"unused=1"}), "parameter");
  // With a static graph that promise would be broken.
  const auto broken = run(2, {"unused=1", "static=1"}, {"LOCKSTEP_TIMEOUT=20"});
  EXPECT_EQ(broken.status.code, 2) << broken.errors;
  EXPECT_NE(broken.errors.find("static"), std::string::npos) << broken.errors;
  EXPECT_EQ(distance(loose, numbers(run(2, {"unused=1"}), "parameter")), 0);
}

TEST_F(DataParallelTest, RoundsGradientsOnTheWire) {
  const auto exact = numbers(run(2, {"steps=10"}), "parameter");
  for (const char* wire : {"wire=half", "wire=bfloat"}) {
    const auto rounded = run(2, {"steps=10", wire});
    const double off = distance(exact, numbers(rounded, "parameter"));
    EXPECT_GT(off, 0) << wire;
    EXPECT_LT(off, 0.02) << wire;
    EXPECT_NE(rounded.output.find("ranks differ by 0.000000"), std::string::npos);
  }
}

TEST_F(DataParallelTest, SumsOverGlooAsOverSharedMemory) {
  const auto gloo = run(2, {"steps=20", "backend=gloo"});
  EXPECT_NE(gloo.output.find("backend gloo"), std::string::npos) << gloo.output << gloo.errors;
  EXPECT_LT(distance(numbers(run(2, {"steps=20"}), "parameter"), numbers(gloo, "parameter")),
            kRounding);
}

TEST_F(DataParallelTest, TrainsAGeneratorAndADiscriminator) {
  EXPECT_EQ(run(2, {"do=gan"}).output, "two modules agree\n");
}

TEST_F(DataParallelTest, AddsUpTheLossesOfSeveralForwardsForAnyNumberOfSteps) {
  const auto captured = run(2, {"do=summed"});
  EXPECT_EQ(captured.output, "summed losses agree\n") << captured.errors;
}

TEST_F(DataParallelTest, GoesOnUntilTheLastRankHasNoBatch) {
  EXPECT_EQ(run(3, {"do=uneven"}).output, "uneven inputs agree\n");
}

TEST_F(DataParallelTest, NormalisesOverTheBatchesOfAllRanks) {
  EXPECT_EQ(run(2, {"do=norm"}).output, "batch norms agree\n");
}

TEST_F(DataParallelTest, EstimatesTheNoiseScale) {
  const auto captured = run(2, {"noise=1"});
  EXPECT_NE(captured.output.find("noise scale "), std::string::npos) << captured.output;
}

TEST_F(DataParallelTest, HelpersAgreeOnAllRanks) {
  for (const int ranks : {1, 3}) {
    const auto captured = run(ranks, {"do=helpers"});
    EXPECT_EQ(captured.output, "helpers agree\n") << captured.errors;
  }
}

TEST_F(DataParallelTest, ResumesOnAnotherNumberOfRanks) {
  for (const char* sharded : {"sharded=0", "sharded=1"}) {
    const std::string file = path(std::string("saved-") + sharded);
    // A schedule that halves the rate at steps 7 and 14: its count and the rate are in the file.
    const Words common{"optimizer=adam", "schedule=1", sharded};
    const auto with = [&](Words more) {
      more.insert(more.begin(), common.begin(), common.end());
      return more;
    };
    const auto whole = numbers(run(2, with({"steps=20"})), "parameter");
    ASSERT_TRUE(run(2, with({"steps=10", "save=" + file})).status.clean());
    EXPECT_EQ(distance(whole, numbers(run(2, with({"steps=20", "load=" + file})), "parameter")), 0);
    for (const int ranks : {1, 4}) {
      const auto resumed = numbers(run(ranks, with({"steps=20", "load=" + file})), "parameter");
      EXPECT_LT(distance(whole, resumed), 2e-4) << ranks;
    }
  }
}

TEST_F(DataParallelTest, RefusesACheckpointThatIsNone) {
  const std::string file = path("text");
  ASSERT_EQ(std::system(("echo text > " + file).c_str()), 0);
  const auto captured = run(2, {"load=" + file});
  EXPECT_EQ(captured.status.code, 4);
  EXPECT_EQ(count(captured.errors, "is not a checkpoint of this program"), 2) << captured.errors;
}

}  // namespace
}  // namespace lockstep
