#include "lockstep/launch/core_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::launch {
namespace {

/// Cores of one hardware thread each, from number 4 on.
std::vector<measure::Core> cores(int count) {
  std::vector<measure::Core> list;
  for (int i = 0; i < count; ++i) list.push_back({{4 + i}, 0});
  return list;
}

/// As most servers number them: the second hardware threads of all cores follow the first ones.
std::vector<measure::Core> two_nodes(int cores_per_node) {
  const int total = 2 * cores_per_node;
  std::vector<measure::Core> list;
  for (int i = 0; i < total; ++i) list.push_back({{i, total + i}, i / cores_per_node});
  return list;
}

using Shares = std::vector<std::vector<int>>;

TEST(CorePlan, DefaultsToOneWorkerACore) {
  const CorePlan plan = plan_cores(cores(4), 0, 0, false);
  EXPECT_EQ(plan.workers, 4);
  EXPECT_EQ(plan.threads_per_worker, 1);
  EXPECT_FALSE(plan.oversubscribed);
}

TEST(CorePlan, GivesEachWorkerItsShareOfTheCores) {
  const CorePlan plan = plan_cores(cores(8), 2, 0, false);
  EXPECT_EQ(plan.threads_per_worker, 4);
  EXPECT_EQ(plan.cpus, (Shares{{4, 5, 6, 7}, {8, 9, 10, 11}}));
}

TEST(CorePlan, RefusesMoreThreadsThanCoresUnlessAllowed) {
  try {
    plan_cores(cores(2), 8, 0, false);
    FAIL() << "8 workers on 2 cores were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(), "--workers 8 exceeds the 2 cores of this host");
    EXPECT_NE(error.hint().find("--oversubscribe"), std::string::npos);
  }
  EXPECT_THROW(plan_cores(cores(4), 2, 3, false), Error);
  const CorePlan plan = plan_cores(cores(2), 8, 0, true);
  EXPECT_TRUE(plan.oversubscribed);
  EXPECT_EQ(plan.threads_per_worker, 1);
  ASSERT_EQ(plan.cpus.size(), 8u);
  EXPECT_TRUE(plan.cpus[0].empty());
}

TEST(CorePlan, DoesNotMarkARunThatFitsAsOversubscribed) {
  EXPECT_FALSE(plan_cores(cores(4), 2, 2, true).oversubscribed);
}

TEST(CorePlan, GivesWholeCoresOfOneNode) {
  EXPECT_EQ(plan_cores(two_nodes(2), 0, 0, false).workers, 4);
  EXPECT_EQ(plan_cores(two_nodes(2), 2, 0, false).cpus, (Shares{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  // Fewer workers than nodes: on one node, rather than over both.
  EXPECT_EQ(plan_cores(two_nodes(4), 1, 3, false).cpus, (Shares{{0, 8, 1, 9, 2, 10}}));
  // Neither node can have a second worker of 3 cores, and no worker crosses the border needlessly.
  EXPECT_EQ(plan_cores(two_nodes(4), 2, 3, false).cpus,
            (Shares{{0, 8, 1, 9, 2, 10}, {4, 12, 5, 13, 6, 14}}));
  // More than a node has.
  EXPECT_EQ(plan_cores(two_nodes(2), 1, 4, false).cpus, (Shares{{0, 4, 1, 5, 2, 6, 3, 7}}));
}

TEST(CorePlan, SharesCoresAmongMoreWorkersThanThereAre) {
  const CorePlan plan = plan_cores(two_nodes(1), 4, 0, false);
  EXPECT_FALSE(plan.oversubscribed);
  EXPECT_EQ(plan.cpus, (Shares{{0}, {2}, {1}, {3}}));
  EXPECT_EQ(plan_cores(two_nodes(1), 2, 2, false).cpus, (Shares{{0, 2}, {1, 3}}));
  try {
    plan_cores(two_nodes(1), 5, 0, false);
    FAIL() << "5 workers on 4 hardware threads were accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--workers 5 exceeds the 2 cores (4 hardware threads) of this host");
  }
}

TEST(CorePlan, SharesAreDisjointEqualAndFromTheAvailableCores) {
  Rng rng(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const int count = 1 + static_cast<int>(rng.below(32));
    const std::vector<measure::Core> available =
        rng.below(2) == 0 ? cores(count) : two_nodes(count);
    const int workers = static_cast<int>(rng.below(70));
    const int threads = static_cast<int>(rng.below(8));
    const CorePlan plan = plan_cores(available, workers, threads, true);
    ASSERT_EQ(plan.cpus.size(), static_cast<std::size_t>(plan.workers));
    const int wanted = plan.workers * plan.threads_per_worker;
    ASSERT_EQ(plan.oversubscribed, wanted > measure::hardware_threads(available));
    if (plan.oversubscribed) continue;
    std::set<int> free;
    for (const measure::Core& core : available)
      free.insert(core.threads.begin(), core.threads.end());
    for (const auto& share : plan.cpus) {
      ASSERT_EQ(share.size(), plan.cpus[0].size());
      ASSERT_GE(share.size(), static_cast<std::size_t>(plan.threads_per_worker));
      for (const int cpu : share) ASSERT_EQ(free.erase(cpu), 1u);
    }
  }
}

}  // namespace
}  // namespace lockstep::launch
