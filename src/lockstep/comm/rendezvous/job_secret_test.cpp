#include "lockstep/comm/rendezvous/job_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

class JobSecretTest : public ::testing::Test {
 protected:
  JobSecretTest() {
    std::string name = ::testing::TempDir() + "lockstep-secret-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~JobSecretTest() override { std::filesystem::remove_all(folder_); }

  JobSecret secret(std::map<std::string, std::string> variables, const std::string& job) const {
    variables.try_emplace("XDG_CONFIG_HOME", folder_);
    return job_secret(
        [&](const char* name) -> const char* {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        job);
  }

  std::string folder_;
};

TEST_F(JobSecretTest, IsTheSameForAllRanksOfAJobAndOnlyForThem) {
  EXPECT_EQ(secret({}, "job 1"), secret({}, "job 1"));
  EXPECT_NE(secret({}, "job 1"), secret({}, "job 2"));
  EXPECT_EQ(secret({{"LOCKSTEP_SECRET", "x"}}, "job"), secret({{"LOCKSTEP_SECRET", "x"}}, "job"));
  EXPECT_NE(secret({{"LOCKSTEP_SECRET", "x"}}, "job"), secret({{"LOCKSTEP_SECRET", "y"}}, "job"));
}

TEST_F(JobSecretTest, RanksThatStartAtOnceAgree) {
  std::vector<JobSecret> secrets(8);
  std::vector<std::thread> threads;
  for (auto& mine : secrets) threads.emplace_back([&] { mine = secret({}, "job"); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::set<JobSecret>(secrets.begin(), secrets.end()).size(), 1U);
}

TEST_F(JobSecretTest, RefusesAFileThatOthersCanRead) {
  secret({}, "job");
  ASSERT_EQ(::chmod((folder_ + "/lockstep/secret").c_str(), 0644), 0);
  EXPECT_THROW(secret({}, "job"), Error);
}

TEST_F(JobSecretTest, NeedsAHome) {
  EXPECT_THROW(job_secret([](const char*) -> const char* { return nullptr; }, "job"), Error);
}

}  // namespace
}  // namespace lockstep::comm
