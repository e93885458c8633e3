#include "lockstep/launch/refusal.h"

#include <gtest/gtest.h>

namespace lockstep::launch {
namespace {

const std::string kFrame(74, '-');

std::optional<Error> told_by(const std::vector<std::string>& lines) {
  RefusalListener listener("srun cannot start the workers");
  for (const std::string& line : lines) listener.hold(line);
  return listener.refusal();
}

TEST(Refusal, NamesThePartitionThatSlurmDoesNotHave) {
  const auto error = told_by({"srun: error: invalid partition specified: nope",
                              "srun: error: Unable to allocate resources: Invalid partition name "
                              "specified"});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kUsage);
  EXPECT_STREQ(error->what(), "srun cannot start the workers: invalid partition specified: nope");
  EXPECT_EQ(error->hint(), "sinfo lists the partitions");
}

TEST(Refusal, DistinguishesUserErrorsFromMissingPrograms) {
  const auto kind_of = [](const std::string& line) {
    const auto error = refusal_in(line, "srun");
    return error ? error->kind() : ErrorKind::kInternal;
  };
  EXPECT_EQ(kind_of("srun: error: Invalid --time specification"), ErrorKind::kUsage);
  EXPECT_EQ(kind_of("srun: error: Invalid generic resource (gres) specification"),
            ErrorKind::kUsage);
  EXPECT_EQ(kind_of("srun: Requested partition configuration not available now"),
            ErrorKind::kUsage);
  EXPECT_EQ(kind_of("allocation failure: Requested node configuration is not available"),
            ErrorKind::kUsage);
  EXPECT_EQ(kind_of("srun: error: Unable to allocate resources: Invalid account or "
                    "account/partition combination specified"),
            ErrorKind::kUsage);
  EXPECT_EQ(kind_of("srun: error: Unable to allocate resources: Unable to contact slurm controller "
                    "(connect failure)"),
            ErrorKind::kEnvironment);
  EXPECT_EQ(kind_of("srun: fatal: Could not establish a configuration source"),
            ErrorKind::kEnvironment);
  EXPECT_EQ(kind_of("ssh: connect to host node2 port 22: Connection refused"),
            ErrorKind::kEnvironment);
  EXPECT_EQ(kind_of("me@node2: Permission denied (publickey,password)."), ErrorKind::kEnvironment);
}

TEST(Refusal, MakesOneSentenceOfMpirunsPage) {
  RefusalListener listener("mpirun cannot start the workers");
  EXPECT_TRUE(listener.hold(kFrame));
  EXPECT_TRUE(listener.hold("There are not enough slots available in the system to satisfy the 4"));
  EXPECT_TRUE(listener.hold("slots that were requested by the application:"));
  EXPECT_TRUE(listener.hold(kFrame));
  EXPECT_TRUE(listener.stop().empty());
  ASSERT_TRUE(listener.refusal());
  EXPECT_STREQ(listener.refusal()->what(),
               "mpirun cannot start the workers: fewer slots than workers");
}

TEST(Refusal, GivesBackLinesThatWereNone) {
  RefusalListener listener("mpirun cannot start the workers");
  EXPECT_TRUE(listener.hold(kFrame));
  EXPECT_TRUE(listener.hold("A process or daemon was unable to complete a TCP connection"));
  EXPECT_FALSE(listener.refusal());
  EXPECT_EQ(listener.stop().size(), 2U);
  EXPECT_FALSE(listener.hold("ssh: connect to host node2 port 22: Connection refused"))
      << "workers are there";
}

TEST(Refusal, LetsNewsOfTheQueueThrough) {
  RefusalListener listener("srun cannot start the workers");
  EXPECT_FALSE(listener.hold("srun: job 3 queued and waiting for resources"));
  EXPECT_FALSE(listener.hold("[rank 0/2] warning: ssh: is a word"));
  EXPECT_FALSE(listener.refusal());
}

}  // namespace
}  // namespace lockstep::launch
