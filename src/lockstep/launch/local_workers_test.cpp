#include "lockstep/launch/local_workers.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::launch {
namespace {

std::string value_of(const ProcessSpec& spec, const std::string& name) {
  for (const std::string& entry : spec.environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "(absent)";
}

TEST(LocalWorkers, GiveEachWorkerItsRankThreadsAndSharedResources) {
  const LocalWorkers local;
  const std::vector<measure::Core> cores{{{0}}, {{1}}, {{2}}, {{3}}};
  const auto specs = local.specs("worker", {"train", "fashion"}, plan_cores(cores, 2, 2, false),
                                 {"OPENBLAS_CORETYPE=Zen"});
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(value_of(specs[1], "LOCKSTEP_RANK"), "1");
  EXPECT_EQ(value_of(specs[1], "LOCKSTEP_LOCAL_RANK"), "1");
  EXPECT_EQ(value_of(specs[1], "LOCKSTEP_WORLD_SIZE"), "2");
  EXPECT_EQ(value_of(specs[1], "LOCKSTEP_LOCAL_SIZE"), "2");
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    EXPECT_EQ(value_of(specs[0], name), "2");
  }
  EXPECT_EQ(value_of(specs[0], "OPENBLAS_CORETYPE"), "Zen");
  EXPECT_EQ(specs[1].cpus, (std::vector<int>{2, 3}));
  EXPECT_EQ(specs[1].arguments, (std::vector<std::string>{"train", "fashion"}));
  // One shared segment for all, which only the workers inherit.
  EXPECT_EQ(value_of(specs[0], "LOCKSTEP_SHM_FD"), value_of(specs[1], "LOCKSTEP_SHM_FD"));
  const int segment = std::stoi(value_of(specs[0], "LOCKSTEP_SHM_FD"));
  EXPECT_EQ(specs[0].inherited, std::vector<int>{segment});
  EXPECT_NE(::fcntl(segment, F_GETFD) & FD_CLOEXEC, 0);
  // One secret for all, another for each run.
  EXPECT_EQ(value_of(specs[0], "LOCKSTEP_SECRET").size(), 64u);
  EXPECT_EQ(value_of(specs[0], "LOCKSTEP_SECRET"), value_of(specs[1], "LOCKSTEP_SECRET"));
  const LocalWorkers other;
  const auto others = other.specs("worker", {}, plan_cores(cores, 2, 2, false), {});
  EXPECT_NE(value_of(specs[0], "LOCKSTEP_SECRET"), value_of(others[0], "LOCKSTEP_SECRET"));
}

}  // namespace
}  // namespace lockstep::launch
