#include "lockstep/launch/core_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::launch {
namespace {

std::vector<int> cores(int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 4);
  return list;
}

TEST(CorePlan, DefaultsToOneWorkerACore) {
  const CorePlan plan = plan_cores(cores(4), 0, 0, false);
  EXPECT_EQ(plan.workers, 4);
  EXPECT_EQ(plan.threads_per_worker, 1);
  EXPECT_FALSE(plan.oversubscribed);
}

TEST(CorePlan, GivesEachWorkerItsShareOfTheCores) {
  const CorePlan plan = plan_cores(cores(8), 2, 0, false);
  EXPECT_EQ(plan.threads_per_worker, 4);
  EXPECT_EQ(plan.cores, (std::vector<std::vector<int>>{{4, 5, 6, 7}, {8, 9, 10, 11}}));
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
  ASSERT_EQ(plan.cores.size(), 8u);
  EXPECT_TRUE(plan.cores[0].empty());
}

TEST(CorePlan, DoesNotMarkARunThatFitsAsOversubscribed) {
  EXPECT_FALSE(plan_cores(cores(4), 2, 2, true).oversubscribed);
}

TEST(CorePlan, SharesAreDisjointEqualAndFromTheAvailableCores) {
  Rng rng(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<int> available = cores(1 + static_cast<int>(rng.below(64)));
    const int workers = static_cast<int>(rng.below(70));
    const int threads = static_cast<int>(rng.below(8));
    const CorePlan plan = plan_cores(available, workers, threads, true);
    ASSERT_EQ(plan.cores.size(), static_cast<std::size_t>(plan.workers));
    const std::size_t wanted =
        static_cast<std::size_t>(plan.workers) * static_cast<std::size_t>(plan.threads_per_worker);
    ASSERT_EQ(plan.oversubscribed, wanted > available.size());
    if (plan.oversubscribed) continue;
    std::set<int> used;
    for (const auto& share : plan.cores) {
      ASSERT_EQ(share.size(), static_cast<std::size_t>(plan.threads_per_worker));
      for (int core : share) {
        ASSERT_TRUE(used.insert(core).second);
        ASSERT_TRUE(std::binary_search(available.begin(), available.end(), core));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::launch
