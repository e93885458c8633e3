#include "lockstep/collect/step_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lockstep::collect {
namespace {

using record::Phase;
using record::StepTimes;

StepTimes step_of(std::int64_t step, int rank, double seconds, double computing) {
  StepTimes one;
  one.step = step;
  one.rank = rank;
  one.start_ns = 7'000'000'000 + step * 10'000'000;
  one.total_s = seconds;
  one[Phase::kForward] = computing;
  one[Phase::kWait] = seconds - computing;
  return one;
}

TEST(StepDigest, KeepsTheShortestAndTheLongestStepOfEveryBin) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> length(0.010, 0.020);
  constexpr std::int64_t kSteps = 100'003;
  StepDigestBuilder builder(2 * kSteps, 2);
  double shortest = 1;
  double longest = 0;
  double sum = 0;
  for (std::int64_t s = 0; s < kSteps; ++s) {
    double slower = 0;
    for (int rank = 0; rank < 2; ++rank) {
      const double seconds = s == 77'777 ? 0.5 : length(random);
      slower = std::max(slower, seconds);
      builder.add(step_of(s, rank, seconds, seconds / 2));
    }
    shortest = std::min(shortest, slower);
    longest = std::max(longest, slower);
    sum += slower;
  }
  const StepDigest digest = builder.finish();
  EXPECT_EQ(digest.steps, kSteps);
  EXPECT_LE(digest.bins.size(), 500u);
  EXPECT_GE(digest.bins.size(), 400u);
  double found_shortest = 1;
  double found_longest = 0;
  double found_sum = 0;
  std::int64_t next = 0;
  for (const StepBin& bin : digest.bins) {
    EXPECT_EQ(bin.first_step, next);
    next = bin.last_step + 1;
    found_shortest = std::min(found_shortest, bin.shortest_s);
    found_longest = std::max(found_longest, bin.longest_s);
    found_sum += bin.mean_s * static_cast<double>(bin.last_step - bin.first_step + 1);
    EXPECT_LE(bin.shortest_s, bin.mean_s);
    EXPECT_LE(bin.mean_s, bin.longest_s);
  }
  EXPECT_EQ(next, kSteps);
  EXPECT_EQ(found_shortest, shortest);
  EXPECT_EQ(found_longest, longest);
  EXPECT_NEAR(found_sum, sum, 1e-6 * sum);
  ASSERT_EQ(digest.slowest.size(), 2u);
  EXPECT_EQ(digest.slowest.front().step, 77'777);
}

TEST(StepDigest, ReportsHowBusyEachRankWas) {
  StepDigestBuilder builder(40, 2);
  for (std::int64_t s = 0; s < 20; ++s) {
    builder.add(step_of(s, 0, 0.010, 0.010));
    builder.add(step_of(s, 1, 0.010, 0.0025));
  }
  const StepDigest digest = builder.finish();
  ASSERT_EQ(digest.bins.size(), 20u);
  EXPECT_NEAR(digest.bins[3].busy[0], 1.0, 1e-9);
  EXPECT_NEAR(digest.bins[3].busy[1], 0.25, 1e-9);
  EXPECT_NEAR(digest.bins[3].start_s, 0.030, 1e-9);
}

TEST(StepDigest, TakesATypicalStepNearTheMedian) {
  StepDigestBuilder builder(30, 1);
  for (std::int64_t s = 0; s < 30; ++s) builder.add(step_of(s, 0, s == 20 ? 1.0 : 0.010, 0.005));
  const StepDigest digest = builder.finish();
  ASSERT_EQ(digest.typical.size(), 1u);
  EXPECT_EQ(digest.typical.front().total_s, 0.010);
  EXPECT_EQ(digest.slowest.front().step, 20);
}

TEST(StepDigest, OfNoStepsIsEmpty) {
  const StepDigest digest = StepDigestBuilder(0, 2).finish();
  EXPECT_EQ(digest.steps, 0);
  EXPECT_TRUE(digest.bins.empty());
  EXPECT_TRUE(digest.typical.empty());
}

}  // namespace
}  // namespace lockstep::collect
