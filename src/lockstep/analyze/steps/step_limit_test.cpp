#include "lockstep/analyze/steps/step_limit.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace lockstep::analyze {
namespace {

using record::Phase;
using record::StepTimes;

/// 50 steps of 100 ms in which each rank spends the given times (ms) and waits the rest.
StepBreakdown breakdown_of(const std::vector<std::map<Phase, double>>& ranks) {
  StepBreakdownBuilder builder(static_cast<int>(ranks.size()));
  for (int number = 0; number < 50; ++number) {
    record::StepBlock block;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      StepTimes step;
      step.rank = static_cast<int>(rank);
      step.step = number;
      step.total_s = 0.1;
      double own = 0;
      for (const auto& [phase, ms] : ranks[rank]) own += step[phase] = ms * 1e-3;
      if (ranks.size() > 1) {
        step.ready_ns = 1 + 100'000'000LL * number + static_cast<std::int64_t>(own * 1e9);
        step[Phase::kTransfer] = 0.1 - own;
      }
      block.steps.push_back(step);
    }
    if (ranks.size() > 1) record::split_exposed(block.steps);
    builder.add(block);
  }
  return builder.result();
}

TEST(StepLimit, NamesTheLoaderWhereAStepWaitsForIt) {
  const auto steps = breakdown_of({{{Phase::kInputWait, 60}, {Phase::kForward, 40}}});
  EXPECT_EQ(limit_sentence(steps),
            "bottleneck: input: 60 % of a step waits for the next batch (60.0 ms of 100 ms)");
}

TEST(StepLimit, AddsUpWhatIsComputed) {
  const auto steps =
      breakdown_of({{{Phase::kInputWait, 40}, {Phase::kForward, 25}, {Phase::kBackward, 35}}});
  EXPECT_EQ(limit_sentence(steps).find("bottleneck: compute: 60 %"), 0u);
}

TEST(StepLimit, NamesTheRankThatOthersWaitForAndWhereItIsSlow) {
  const auto phases = {Phase::kInputWait, Phase::kForward, Phase::kBackward};
  for (const Phase slow : phases) {
    std::map<Phase, double> usual{
        {Phase::kInputWait, 2}, {Phase::kForward, 10}, {Phase::kBackward, 20}};
    std::map<Phase, double> late = usual;
    late[slow] += 50;
    const std::string sentence = limit_sentence(breakdown_of({usual, late, usual}));
    EXPECT_EQ(sentence.find("bottleneck: rank 1: it spends 50.0 ms more per step "), 0u)
        << sentence;
    const char* where = slow == Phase::kInputWait ? "waiting for the next batch"
                        : slow == Phase::kForward ? "in forward"
                                                  : "in backward";
    EXPECT_NE(sentence.find(where), std::string::npos) << sentence;
  }
}

TEST(StepLimit, NamesNoRankWhereRanksAreAlike) {
  const std::map<Phase, double> usual{{Phase::kForward, 20}, {Phase::kBackward, 20}};
  const StepBreakdown steps = breakdown_of(std::vector(2, usual));
  ASSERT_EQ(steps.ranks.size(), 2u);
  const std::string sentence = limit_sentence(steps);
  EXPECT_EQ(sentence.find("bottleneck: communication: 60 %"), 0u) << sentence;
}

TEST(StepLimit, NamesNoRankWhereRanksTakeTurnsAtBeingLate) {
  StepBreakdownBuilder builder(2);
  for (int number = 0; number < 60; ++number) {
    record::StepBlock block;
    for (int rank = 0; rank < 2; ++rank) {
      StepTimes step;
      step.rank = rank;
      step.step = number;
      step.total_s = 0.1;
      // Rank 1 is late a little more often and a little slower in forward.
      const bool late = (number % 5 < 3) == (rank == 1);
      step[Phase::kForward] = late ? 0.09 : rank == 1 ? 0.032 : 0.03;
      step.ready_ns = 1 + 100'000'000LL * number + (late ? 90'000'000 : 32'000'000);
      step[Phase::kTransfer] = 0.1 - step[Phase::kForward];
      block.steps.push_back(step);
    }
    record::split_exposed(block.steps);
    builder.add(block);
  }
  const StepBreakdown steps = builder.result();
  ASSERT_TRUE(steps.slowest);
  EXPECT_GT(steps.slowest->cost_share, 0.3);
  const std::string sentence = limit_sentence(steps);
  EXPECT_EQ(sentence.find("bottleneck: compute: "), 0u) << sentence;
  EXPECT_NE(sentence.find("\nalso waiting: 29 % of a step waits for other ranks"),
            std::string::npos)
      << sentence;
}

TEST(StepLimit, IsEmptyWithoutSteps) {
  EXPECT_EQ(limit_sentence({}), "");
}

}  // namespace
}  // namespace lockstep::analyze
