#include "lockstep/launch/thread_waits.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep::launch {
namespace {

TEST(ThreadWaits, CountsWhatRunsAsTheKernelStatesIt) {
  EXPECT_EQ(running_processes("cpu0 1 2\nprocesses 99\nprocs_running 12\nprocs_blocked 3\n"), 12);
  EXPECT_EQ(running_processes("cpu0 1 2\n"), 0);
  EXPECT_EQ(running_processes("\nprocs_running "), 0);
}

TEST(ThreadWaits, AreOfNoConcernToAWorkerOfOneThread) {
  CorePlan plan;
  plan.threads_per_worker = 1;
  EXPECT_TRUE(thread_wait_environment(plan).empty());
}

TEST(ThreadWaits, AreBriefWhereWorkersShareCores) {
  CorePlan plan;
  plan.threads_per_worker = 2;
  plan.oversubscribed = true;
  EXPECT_EQ(thread_wait_environment(plan), std::vector<std::string>{"GOMP_SPINCOUNT=1000"});
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
