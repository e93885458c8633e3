#include "lockstep/measure/openblas_core.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockstep::measure
