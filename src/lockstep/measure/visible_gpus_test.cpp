#include "lockstep/measure/visible_gpus.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace lockstep::measure {
namespace {

TEST(VisibleGpus, AreThoseOfTheListThatCudaReads) {
  EXPECT_EQ(visible_gpus("0"), 1);
  EXPECT_EQ(visible_gpus("2,5,7"), 3);
  EXPECT_EQ(visible_gpus("GPU-8932f937,GPU-1a2b3c4d"), 2);
  EXPECT_EQ(visible_gpus(""), 0);
}

TEST(VisibleGpus, EndAtTheFirstEntryThatIsNone) {
  EXPECT_EQ(visible_gpus("-1"), 0);
  EXPECT_EQ(visible_gpus("NoDevFiles"), 0);
  EXPECT_EQ(visible_gpus("0,1,-1,2"), 2);
}

TEST(VisibleGpus, ContainOneMigInstanceAtMost) {
  EXPECT_EQ(visible_gpus("MIG-8932f937-d72c"), 1);
  EXPECT_EQ(visible_gpus("MIG-8932f937-d72c,MIG-1a2b3c4d-0000"), 1);
}

TEST(VisibleGpus, AreThoseOfTheDriverWhereNoListIsSet) {
  const std::filesystem::path folder = ::testing::TempDir() + "lockstep_visible_gpus";
  std::filesystem::create_directories(folder / "0000:3b:00.0");
  std::filesystem::create_directories(folder / "0000:5e:00.0");
  EXPECT_EQ(visible_gpus(nullptr, folder.string()), 2);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(visible_gpus(nullptr, folder.string()), 0);
}

}  // namespace
}  // namespace lockstep::measure
