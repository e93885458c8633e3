#include "lockstep/report/delays_table.h"

#include <gtest/gtest.h>

namespace lockstep::report {
namespace {

record::RunSpec spec_of(int workers, double queue_wait_s) {
  record::RunSpec spec;
  spec.workers = workers;
  spec.batch_per_worker = 16;
  spec.queue_wait_s = queue_wait_s;
  return spec;
}

analyze::SlowestRank slow(int rank, double last_share, double cost_ms, double cost_share) {
  return {rank, last_share, Seconds(cost_ms * 1e-3), cost_share};
}

TEST(DelaysTable, IsLeftOutWhereNothingWaited) {
  const std::vector<RunDelays> runs{{spec_of(1, -1), std::nullopt},
                                    {spec_of(4, -1), slow(2, 0.3, 1, 0.2)},    // by chance
                                    {spec_of(4, -1), slow(2, 0.9, 1, 0.02)}};  // costs little
  EXPECT_FALSE(delays_table(runs));
}

TEST(DelaysTable, SeparatesTheQueueWaitOfEachConfiguration) {
  const std::vector<RunDelays> runs{
      {spec_of(2, 4), std::nullopt}, {spec_of(2, 10), std::nullopt}, {spec_of(1, 1), std::nullopt}};
  const auto table = delays_table(runs);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->rows[0][4].number, 1);
  EXPECT_EQ(table->rows[1][3].number, 2);
  EXPECT_EQ(table->rows[1][4].number, 7);
  EXPECT_EQ(table->rows[1][5].number, 10);
  EXPECT_EQ(table->rows[1][6].text, "none");
}

TEST(DelaysTable, NamesTheRankThatCostMostOverAllRuns) {
  const std::vector<RunDelays> runs{{spec_of(4, -1), slow(3, 0.8, 2, 0.1)},
                                    {spec_of(4, -1), slow(3, 0.9, 4, 0.3)},
                                    {spec_of(4, -1), slow(1, 0.7, 5, 0.2)}};
  const auto table = delays_table(runs);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 1u);
  const auto& row = table->rows[0];
  EXPECT_TRUE(row[4].unknown());
  EXPECT_EQ(row[6].text, "3");
  EXPECT_EQ(row[7].number, 2);
  EXPECT_NEAR(*row[9].number, 3, 1e-9);
  EXPECT_NEAR(*row[10].number, 20, 1e-9);
}

}  // namespace
}  // namespace lockstep::report
