#include "lockstep/watch/number_processes.h"

#include <gtest/gtest.h>

namespace lockstep::watch {
namespace {

/// Trains from `from` to `to`, one step per unit of time, but for a pause.
RankRecord process(std::int64_t pid, int from, int to, int pause_from = 0, int pause_to = 0) {
  RankRecord record;
  record.host = "a";
  record.pid = pid;
  for (int at = from; at < to; ++at) {
    if (at >= pause_from && at < pause_to) continue;
    WatchedStep step;
    step.times.start_ns = at;
    record.steps.push_back(step);
  }
  return record;
}

std::vector<int> ranks_of(std::vector<RankRecord> records) {
  number_processes(records);
  std::vector<int> ranks;
  for (const RankRecord& record : records) {
    EXPECT_EQ(record.steps.front().times.rank, record.rank);
    ranks.push_back(record.rank);
  }
  return ranks;
}

TEST(NumberProcesses, ThatTrainAtTheSameTimeAreRanks) {
  EXPECT_EQ(ranks_of({process(9, 2, 100), process(7, 0, 90), process(8, 1, 95)}),
            (std::vector{0, 1, 2}));
}

TEST(NumberProcesses, ThatTrainOneAfterTheOtherAreNot) {
  EXPECT_EQ(ranks_of({process(7, 0, 50), process(8, 60, 100)}), (std::vector{0, 0}));
}

TEST(NumberProcesses, AChildThatItsParentWaitsForIsNoRank) {
  EXPECT_EQ(ranks_of({process(7, 0, 100, 40, 60), process(8, 41, 59)}), (std::vector{0, 0}));
}

TEST(NumberProcesses, RanksThatKnowTheirNumberKeepIt) {
  RankRecord second = process(8, 0, 50);
  second.rank = 1;
  second.world = 2;
  for (WatchedStep& step : second.steps) step.times.rank = 1;
  EXPECT_EQ(ranks_of({process(7, 0, 50), second}), (std::vector{0, 1}));
}

}  // namespace
}  // namespace lockstep::watch
