#include "lockstep/launch/local_workers.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace lockstep::launch {
namespace {

std::string value_of(const ProcessSpec& spec, const std::string& name) {
  for (const std::string& entry : spec.environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "(absent)";
}

TEST(LocalWorkers, TellEachWorkerItsRankThreadsAndSharedThings) {
  std::string directory;
  {
    const LocalWorkers local;
    const std::vector<int> cores{0, 1, 2, 3};
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
    EXPECT_EQ(specs[1].cores, (std::vector<int>{2, 3}));
    EXPECT_EQ(specs[1].arguments, (std::vector<std::string>{"train", "fashion"}));
    // One shared segment for all, which only the workers inherit.
    EXPECT_EQ(value_of(specs[0], "LOCKSTEP_SHM_FD"), value_of(specs[1], "LOCKSTEP_SHM_FD"));
    const int segment = std::stoi(value_of(specs[0], "LOCKSTEP_SHM_FD"));
    EXPECT_EQ(specs[0].inherited, std::vector<int>{segment});
    EXPECT_NE(::fcntl(segment, F_GETFD) & FD_CLOEXEC, 0);
    directory = value_of(specs[0], "LOCKSTEP_RENDEZVOUS_DIR");
    EXPECT_TRUE(std::filesystem::is_directory(directory));
  }
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(OpenblasCoreType, FollowsTheFlagsOfTheCpu) {
  const std::vector<std::string> avx512{"avx2",     "fma",      "avx512f",
                                        "avx512dq", "avx512bw", "avx512vl"};
  EXPECT_EQ(openblas_core_type("GenuineIntel", avx512), "SkylakeX");
  EXPECT_EQ(openblas_core_type("AuthenticAMD", avx512), "SkylakeX");
  EXPECT_EQ(openblas_core_type("AuthenticAMD", {"fma", "avx2"}), "Zen");
  EXPECT_EQ(openblas_core_type("GenuineIntel", {"fma", "avx2"}), "Haswell");
  EXPECT_EQ(openblas_core_type("GenuineIntel", {"avx2"}), "");
  EXPECT_EQ(openblas_core_type("GenuineIntel", {"avx2", "fma", "avx512f"}), "Haswell");
  EXPECT_EQ(openblas_core_type("", {}), "");
}

}  // namespace
}  // namespace lockstep::launch
