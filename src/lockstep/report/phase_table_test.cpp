#include "lockstep/report/phase_table.h"

#include <gtest/gtest.h>

namespace lockstep::report {
namespace {

using analyze::RankBreakdown;
using record::Phase;

RankBreakdown rank_of(int rank, double wait_ms) {
  RankBreakdown breakdown;
  breakdown.rank = rank;
  breakdown.steps = 100;
  breakdown.step = Seconds(0.020);
  breakdown.phases[static_cast<std::size_t>(Phase::kWait)] = Seconds(wait_ms * 1e-3);
  breakdown.phases[static_cast<std::size_t>(Phase::kBackward)] = Seconds(0.020 - wait_ms * 1e-3);
  return breakdown;
}

TEST(TimeTable, HasARowForEachPhaseAndOneForTheStep) {
  analyze::StepBreakdown breakdown;
  breakdown.ranks = {rank_of(0, 5), rank_of(1, 0)};
  breakdown.mean = rank_of(-1, 2.5);
  breakdown.warmup_steps = 10;
  const report::Table table = phase_table(breakdown);
  ASSERT_EQ(table.rows.size(), 9u);
  ASSERT_EQ(table.columns.size(), 7u);  // phase, then time and share of two ranks and their mean
  const auto& wait = table.rows[static_cast<std::size_t>(Phase::kWait)];
  EXPECT_EQ(wait[0].text, "comm: wait");
  EXPECT_EQ(wait[1].text, "5.000");
  EXPECT_EQ(wait[2].text, "25.0 %");
  EXPECT_EQ(wait[3].text, "0.000");
  EXPECT_EQ(table.rows[8][1].text, "20.000");
  EXPECT_EQ(table.notes.at(0),
            "measured over 100 steps of each rank; the first 10 are warm-up and left out");
}

TEST(TimeTable, LeavesOutPhasesThatAreUnknown) {
  RankBreakdown whole;
  whole.steps = 100;
  whole.step = Seconds(0.020);
  whole.phases[static_cast<std::size_t>(Phase::kOther)] = Seconds(0.020);
  analyze::StepBreakdown breakdown;
  breakdown.ranks = {whole};
  breakdown.mean = whole;
  const report::Table table = phase_table(breakdown);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0][0].text, "step");
  EXPECT_EQ(table.notes.back(), "the program runs a step as one call: its phases are unknown");
}

TEST(TimeTable, ShowsOnlyTheExtremesOfManyRanks) {
  analyze::StepBreakdown breakdown;
  for (int rank = 0; rank < 64; ++rank) breakdown.ranks.push_back(rank_of(rank, rank == 7 ? 0 : 3));
  breakdown.ranks[20] = rank_of(20, 9);
  breakdown.mean = rank_of(-1, 3);
  const report::Table table = phase_table(breakdown);
  ASSERT_EQ(table.columns.size(), 7u);
  EXPECT_EQ(table.columns[1].header, "fastest, rank 20");  // it waited longest for the others
  EXPECT_EQ(table.columns[3].header, "slowest, rank 7");
  EXPECT_EQ(table.columns[5].header, "mean");
}

TEST(TimeTable, NamesTheSlowestRankAndItsCost) {
  analyze::StepBreakdown breakdown;
  EXPECT_EQ(slowest_rank_sentence(breakdown), "");
  breakdown.ranks.resize(2);
  breakdown.slowest = analyze::SlowestRank{1, 0.83, Seconds(0.0021), 0.042};
  EXPECT_EQ(
      slowest_rank_sentence(breakdown),
      "slowest rank: 1; its gradients were the last in 83 % of the steps, and the others waited "
      "2.10 ms per step for it (4.2 % of the step)");
  breakdown.slowest = analyze::SlowestRank{1, 1, Seconds(0), 0};
  EXPECT_EQ(slowest_rank_sentence(breakdown), "") << "of ranks that never wait";
}

TEST(TimeTable, RanksThatTakeTurnsHaveNoSlowest) {
  analyze::StepBreakdown breakdown;
  breakdown.ranks.resize(2);
  breakdown.slowest = analyze::SlowestRank{1, 0.49, Seconds(0.0021), 0.042};
  EXPECT_EQ(
      slowest_rank_sentence(breakdown),
      "no rank is always the slowest; rank 1 cost the most time: its gradients were the last in "
      "49 % of the steps, and the others waited 2.10 ms per step for it (4.2 % of the step)");
}

}  // namespace
}  // namespace lockstep::report
