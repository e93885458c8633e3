#include "lockstep/launch/run_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "run_directory_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    parent_ = name;
  }
  void TearDown() override { fs::remove_all(parent_); }

  static void age(const fs::path& folder) {
    const timespec old[2]{{1'000'000'000, 0}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder.c_str(), old, 0), 0);
  }

  fs::path parent_;
};

TEST_F(RunDirectoryTest, IsPrivateAndGoneAtTheEndWithAllThatIsInIt) {
  {
    const RunDirectory directory(parent_);
    std::ofstream(directory.path() / "rendezvous") << "x";
    struct stat facts {};
    ASSERT_EQ(::stat(directory.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(RunDirectoryTest, RemovesWhatAKilledProcessLeftBehindButNothingThatIsInUse) {
  const RunDirectory in_use(parent_);
  age(in_use.path());
  const fs::path abandoned = parent_ / "lockstep-run-abcdef";
  fs::create_directory(abandoned);
  std::ofstream(abandoned / "owner.lock");
  age(abandoned);
  const fs::path foreign = parent_ / "lockstep-run-notours";  // no lock file: not made by us
  fs::create_directory(foreign);
  age(foreign);

  const RunDirectory another(parent_);
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(in_use.path()));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(RunDirectoryTest, SaysWhereItCouldNotBeCreated) {
  try {
    RunDirectory directory(parent_ / "missing");
    FAIL() << "created a folder in a missing one";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::launch
