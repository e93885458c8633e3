#include "lockstep/launch/thread_waits.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep::launch {
namespace {

constexpr char kBefore[] =
    "cpu  300 0 0 300 0 0 0 0 0 0\n"
    "cpu0 100 0 0 100 0 0 0 0 0 0\n"
    "cpu1 100 0 0 100 0 0 0 0 50 0\n"
    "cpu12 100 0 0 100 0 0 0 0 0 0\n"
    "intr 12345 0 0\n";
/// One idle, one busy in every way there is, one half busy.
constexpr char kAfter[] =
    "cpu  300 0 0 300 0 0 0 0 0 0\n"
    "cpu0 100 0 0 110 10 0 0 0 0 0\n"
    "cpu1 105 3 4 100 0 1 2 5 55 0\n"
    "cpu12 110 0 0 110 0 0 0 0 0 0\n"
    "intr 12399 0 0\n";

double busy(std::vector<int> cpus) {
  return busy_part(kBefore, kAfter, cpus);
}

TEST(ThreadWaits, BusyPartIsThatOfTheCoresAskedFor) {
  EXPECT_DOUBLE_EQ(busy({0}), 0);
  EXPECT_DOUBLE_EQ(busy({1}), 1);
  EXPECT_DOUBLE_EQ(busy({12}), 0.5);
  EXPECT_DOUBLE_EQ(busy({0, 1}), 0.5);
}

TEST(ThreadWaits, UnreadableCoresCountAsIdle) {
  EXPECT_EQ(busy({7}), 0);
  EXPECT_EQ(busy({}), 0);
  EXPECT_EQ(busy_part("", "", std::vector<int>{0}), 0);
  EXPECT_EQ(busy_part("cpu0 x\ncpuA 1 2", kAfter, std::vector<int>{1}), 0);
}

TEST(ThreadWaits, AreOfNoConcernToAWorkerOfOneThread) {
  CorePlan plan;
  plan.threads_per_worker = 1;
  EXPECT_TRUE(thread_wait_environment(plan).empty());
}

TEST(ThreadWaits, FollowTheUsersChoice) {
  CorePlan plan;
  plan.threads_per_worker = 2;
  for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) {
    ::setenv(name, "1", 1);
    EXPECT_TRUE(thread_wait_environment(plan).empty()) << name;
    ::unsetenv(name);
  }
}

}  // namespace
}  // namespace lockstep::launch
