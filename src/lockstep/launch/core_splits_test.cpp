#include "lockstep/launch/core_splits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace lockstep::launch {
namespace {

using Splits = std::vector<CoreSplit>;

bool is_power_of_two(int count) {
  return std::has_single_bit(static_cast<unsigned>(count));
}

bool contains(const Splits& splits, CoreSplit wanted) {
  return std::find(splits.begin(), splits.end(), wanted) != splits.end();
}

bool ascend(const Splits& splits) {
  return std::is_sorted(splits.begin(), splits.end(), [](const CoreSplit& a, const CoreSplit& b) {
    return std::pair(a.workers, a.threads) <= std::pair(b.workers, b.threads);
  });
}

TEST(CoreSplits, OfTwoCoresAreAllThatThereAre) {
  EXPECT_EQ(core_splits(2, 0), (Splits{{1, 1}, {1, 2}, {2, 1}}));
}

TEST(CoreSplits, OfOneCoreIsOne) {
  EXPECT_EQ(core_splits(1, 0), (Splits{{1, 1}}));
}

TEST(CoreSplits, CoverALargeHostInNearlyEqualRatios) {
  EXPECT_EQ(core_splits(96, 0), (Splits{{1, 96}, {3, 32}, {8, 12}, {32, 3}, {48, 1}, {96, 1}}));
}

TEST(CoreSplits, FitAnyNumberOfCores) {
  for (int cores = 1; cores <= 520; ++cores) {
    const Splits splits = core_splits(cores, 0);
    ASSERT_LE(splits.size(), kMostSplits) << cores;
    EXPECT_TRUE(ascend(splits)) << cores;
    EXPECT_TRUE(contains(splits, {1, cores})) << cores;
    EXPECT_TRUE(contains(splits, {cores, 1})) << cores;
    for (const CoreSplit& split : splits) {
      EXPECT_GE(split.threads, 1) << cores;
      EXPECT_LE(split.workers * split.threads, cores) << cores;
      const bool half = split == CoreSplit{cores / 2, 1};
      EXPECT_TRUE(half || cores % split.workers == 0 || is_power_of_two(split.workers))
          << split.workers << " of " << cores;
      EXPECT_TRUE(half || split.threads == cores / split.workers) << cores;
    }
  }
}

TEST(CoreSplits, VaryOnlyTheWorkersWhereTheThreadsAreGiven) {
  for (int cores = 1; cores <= 130; ++cores) {
    for (int threads = 1; threads <= cores; ++threads) {
      const Splits splits = core_splits(cores, threads);
      ASSERT_LE(splits.size(), kMostSplits) << cores << " " << threads;
      EXPECT_TRUE(ascend(splits)) << cores << " " << threads;
      EXPECT_EQ(splits.front(), (CoreSplit{1, threads}));
      EXPECT_EQ(splits.back(), (CoreSplit{cores / threads, threads}));
      for (const CoreSplit& split : splits) EXPECT_EQ(split.threads, threads);
    }
  }
}

TEST(CoreSplits, AreOneWorkerWhereItsThreadsExceedTheCores) {
  EXPECT_EQ(core_splits(2, 4), (Splits{{1, 4}}));
}

}  // namespace
}  // namespace lockstep::launch
