#include "lockstep/measure/compute_environment.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/base/test_folder.h"

namespace lockstep::measure {
namespace {

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

TEST(OpenmpBuild, IsTakenWhereTheBuildWithOwnThreadsIsInUse) {
  const TestFolder folder;
  const std::filesystem::path lib = folder.path();
  const auto build = [&](const char* name) {
    std::filesystem::create_directories(lib / name);
    std::ofstream(lib / name / "libblas.so.3") << "library";
  };
  build("openblas-pthread");
  std::filesystem::create_symlink(lib / "openblas-pthread/libblas.so.3", lib / "libblas.so.3");
  EXPECT_EQ(openmp_build_beside(lib / "libblas.so.3"), "");  // there is none
  build("openblas-openmp");
  EXPECT_EQ(openmp_build_beside(lib / "libblas.so.3"),
            std::filesystem::canonical(lib) / "openblas-openmp");
  EXPECT_EQ(openmp_build_beside(lib / "openblas-openmp/libblas.so.3"), "");
  build("mkl");  // the choice of the user
  EXPECT_EQ(openmp_build_beside(lib / "mkl/libblas.so.3"), "");
  EXPECT_EQ(openmp_build_beside(lib / "missing"), "");
}

TEST(ComputeEnvironment, AsksForHugePagesUnlessTheUserTunesMalloc) {
  const auto tunables = [] {
    std::vector<std::string> found = compute_environment();
    std::erase_if(found, [](const std::string& v) { return !v.starts_with("GLIBC_TUNABLES="); });
    return found;
  };
  ::unsetenv("GLIBC_TUNABLES");
  EXPECT_EQ(tunables(), std::vector<std::string>{"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"});
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1", 1);
  EXPECT_TRUE(tunables().empty());
  ::unsetenv("GLIBC_TUNABLES");
}

}  // namespace
}  // namespace lockstep::measure
