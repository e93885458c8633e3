#include "lockstep/study/plan/sweep.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::study {
namespace {

Sweep small_sweep() {
  Sweep sweep;
  sweep.workers = {1, 2};
  sweep.batches = {32, 128, 512};
  sweep.strategies = {record::Strategy::kOverlap, record::Strategy::kBlocking};
  sweep.repeats = 3;
  sweep.fixed = "fashion --epochs=2";
  return sweep;
}

std::string refusal(const Sweep& sweep) {
  try {
    cells_of(sweep);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Sweep, CoversTheGridExactlyOnceInEachRound) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    Rng rng(trial);
    Sweep sweep;
    for (std::uint64_t n = 1 + rng.below(4); n > 0; --n)
      sweep.workers.push_back(static_cast<int>(n));
    for (std::uint64_t n = 1 + rng.below(5); n > 0; --n) sweep.batches.push_back(8 << n);
    sweep.strategies = {record::Strategy::kOverlap};
    if (rng.below(2) == 1) sweep.strategies.push_back(record::Strategy::kBlocking);
    sweep.repeats = static_cast<int>(1 + rng.below(4));
    sweep.order_seed = trial;
    const auto plan = plan_runs(sweep);
    const std::size_t grid = sweep.workers.size() * sweep.batches.size() * sweep.strategies.size();
    ASSERT_EQ(plan.size(), grid * static_cast<std::size_t>(sweep.repeats));
    for (std::size_t round = 0; round < plan.size() / grid; ++round) {
      std::set<std::tuple<int, std::int64_t, std::optional<record::Strategy>>> seen;
      for (std::size_t i = round * grid; i < (round + 1) * grid; ++i) {
        EXPECT_EQ(plan[i].repeat, static_cast<int>(round) + 1);
        seen.insert({plan[i].cell.workers, plan[i].cell.batch_per_worker, plan[i].cell.strategy});
      }
      EXPECT_EQ(seen.size(), grid);
    }
  }
}

TEST(Sweep, ShufflesEachRoundInItsOwnOrder) {
  const auto plan = plan_runs(small_sweep());
  std::vector<std::string> first, second;
  for (const PlannedRun& run : plan) {
    if (run.repeat == 1) first.push_back(run.cell.digest);
    if (run.repeat == 2) second.push_back(run.cell.digest);
  }
  EXPECT_NE(first, second);
}

TEST(Sweep, GivesTheSamePlanEachTime) {
  const auto one = plan_runs(small_sweep());
  const auto other = plan_runs(small_sweep());
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].cell.name(), other[i].cell.name());
    EXPECT_EQ(one[i].repeat, other[i].repeat);
  }
}

TEST(Sweep, KeepsTheIdentityOfACellWhenTheGridGrows) {
  Sweep larger = small_sweep();
  larger.workers = {4, 2, 1};
  larger.batches.push_back(1024);
  larger.repeats = 5;
  larger.order_seed = 9;
  std::set<std::string> names;
  for (const Cell& cell : cells_of(larger)) names.insert(cell.name());
  for (const Cell& cell : cells_of(small_sweep())) EXPECT_TRUE(names.contains(cell.name()));
}

TEST(Sweep, DistinguishesCellsByAllTheirSettings) {
  std::set<std::string> digests;
  Sweep sweep = small_sweep();
  for (const Cell& cell : cells_of(sweep)) digests.insert(cell.digest);
  EXPECT_EQ(digests.size(), 12u);
  sweep.fixed = "fashion --epochs=3";
  for (const Cell& cell : cells_of(sweep)) digests.insert(cell.digest);
  EXPECT_EQ(digests.size(), 24u);
}

TEST(Sweep, SharesAGlobalBatchAmongTheWorkers) {
  Sweep sweep = small_sweep();
  sweep.batches.clear();
  sweep.global_batches = {64, 256};
  for (const Cell& cell : cells_of(sweep)) {
    EXPECT_TRUE(cell.global_batch() == 64 || cell.global_batch() == 256) << cell.name();
  }
}

TEST(Sweep, RefusesAGlobalBatchThatDoesNotDivide) {
  Sweep sweep = small_sweep();
  sweep.workers = {1, 3};
  sweep.batches.clear();
  sweep.global_batches = {96, 100};
  EXPECT_EQ(refusal(sweep), "a global batch of 100 cannot be divided equally among 3 workers");
}

TEST(Sweep, RefusesListsThatMakeNoSense) {
  Sweep twice = small_sweep();
  twice.batches = {32, 64, 32};
  EXPECT_EQ(refusal(twice), "--batch lists 32 twice");
  Sweep both = small_sweep();
  both.global_batches = {64};
  EXPECT_EQ(refusal(both), "--batch and --global-batch cannot be combined");
  Sweep none = small_sweep();
  none.workers.clear();
  EXPECT_EQ(refusal(none), "--workers lists no values");
}

TEST(Sweep, ReadsListsAndRefusesOtherText) {
  EXPECT_EQ(parse_counts("1,2, 4", "--workers", 64), (std::vector<std::int64_t>{1, 2, 4}));
  for (const char* bad : {"", "1,", "1;2", "x", "1.5", "0", "-1", "65", "99999999999999999999"}) {
    EXPECT_THROW(parse_counts(bad, "--workers", 64), Error) << bad;
  }
  EXPECT_EQ(parse_names("a,b", "--strategy"), (std::vector<std::string>{"a", "b"}));
  EXPECT_THROW(parse_names("a,,b", "--strategy"), Error);
}

TEST(Ladder, ClimbsByItsFactorUpToItsMost) {
  EXPECT_EQ(parse_ladder("32..x4", "--batch", 2048).rungs(),
            (std::vector<std::int64_t>{32, 128, 512, 2048}));
  EXPECT_EQ(parse_ladder("10..100x3", "--batch", 2048).rungs(),
            (std::vector<std::int64_t>{10, 30, 90}));
  EXPECT_TRUE(is_ladder("32..x4"));
  EXPECT_FALSE(is_ladder("32,128"));
}

TEST(Ladder, RefusesOtherText) {
  for (const char* text : {"..", "32..", "..x4", "32..x", "32..x1", "32..x4,64", "0..x2", "32.x4",
                           "64..32x2", "a..x4", "32..x4x", "32..9999999x2"}) {
    EXPECT_THROW(parse_ladder(text, "--batch", 2048), Error) << text;
  }
}

TEST(Ladder, GoesFromSmallToLargeInEveryRound) {
  Sweep sweep;
  sweep.workers = {1, 2};
  sweep.strategies = {std::nullopt};
  sweep.ladder = {32, 4, 512};
  sweep.repeats = 2;
  const auto plan = plan_runs(sweep);
  ASSERT_EQ(plan.size(), 12u);
  for (std::size_t i = 1; i < plan.size(); ++i) {
    if (plan[i].repeat != plan[i - 1].repeat) continue;
    EXPECT_LE(plan[i - 1].cell.batch_per_worker, plan[i].cell.batch_per_worker);
  }
  EXPECT_TRUE(is_rung_below(plan[0], plan[2]) || is_rung_below(plan[1], plan[2]));
  EXPECT_FALSE(is_rung_below(plan[2], plan[0]));
  sweep.batches = {32};
  EXPECT_THROW(plan_runs(sweep), Error);
}

}  // namespace
}  // namespace lockstep::study
