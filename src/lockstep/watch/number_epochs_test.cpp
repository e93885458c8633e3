#include "lockstep/watch/number_epochs.h"

#include <gtest/gtest.h>

namespace lockstep::watch {
namespace {

/// One rank whose steps take 0.1 s each and have no epoch.
std::vector<RankRecord> ranks_of(std::int64_t steps) {
  RankRecord rank;
  for (std::int64_t s = 0; s < steps; ++s) {
    WatchedStep step;
    step.times.step = s;
    step.times.start_ns = s * 100'000'000;
    step.times.total_s = 0.1;
    rank.steps.push_back(step);
  }
  rank.evaluation_s[0] = 3;
  return {rank};
}

std::vector<record::EpochResult> printed(int first, int count, double seconds = record::kUnknown) {
  std::vector<record::EpochResult> epochs;
  for (int e = 0; e < count; ++e) {
    epochs.emplace_back().epoch = first + e;
    if (seconds > 0) epochs.back().train_s = seconds;
  }
  return epochs;
}

TEST(NumberEpochs, DividesStepsAmongTheEpochsThatTheOutputHas) {
  for (const int first : {0, 1}) {
    std::vector<RankRecord> ranks = ranks_of(20);
    ranks[0].usage = {{0, 0, 1'450'000'000, 1, 1}};
    EXPECT_TRUE(number_epochs(ranks, printed(first, 4, 0.5)));
    EXPECT_EQ(ranks[0].steps[4].times.epoch, 1);
    EXPECT_EQ(ranks[0].steps[5].times.epoch, 2);
    EXPECT_EQ(ranks[0].steps[19].times.epoch, 4);
    EXPECT_EQ(ranks[0].usage[0].epoch, 3);
    EXPECT_TRUE(ranks[0].evaluation_s.empty()) << "of which epoch it was is not known";
  }
}

TEST(NumberEpochs, LeavesThemUnknownWhereTheOutputDoesNotFit) {
  std::vector<record::EpochResult> every_fifth = printed(5, 1);
  every_fifth.push_back(printed(10, 1).front());
  for (const auto& epochs : {printed(1, 0), printed(1, 1), printed(1, 3), printed(3, 4),
                             printed(1, 4, 0.3), every_fifth}) {
    std::vector<RankRecord> ranks = ranks_of(20);
    EXPECT_FALSE(number_epochs(ranks, epochs));
    for (const WatchedStep& step : ranks[0].steps) EXPECT_EQ(step.times.epoch, 1);
    EXPECT_EQ(ranks[0].evaluation_s.at(1), 3);
  }
}

TEST(NumberEpochs, LeavesEpochsThatTheScriptShowsAsTheyAre) {
  std::vector<RankRecord> ranks = ranks_of(20);
  for (std::size_t s = 10; s < 20; ++s) ranks[0].steps[s].times.epoch = s < 15 ? 1 : 2;
  EXPECT_TRUE(number_epochs(ranks, printed(1, 4)));
  EXPECT_EQ(ranks[0].steps[0].times.epoch, 1) << "before the first batch of the loader";
  EXPECT_EQ(ranks[0].steps[19].times.epoch, 2);
}

}  // namespace
}  // namespace lockstep::watch
