#include "lockstep/comm/rendezvous/own_gpu.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

TEST(OwnGpu, IsTheOnlyOneThatATaskOfSlurmSees) {
  EXPECT_EQ(own_gpu(0, 1), 0);
  EXPECT_EQ(own_gpu(3, 1), 0);
}

TEST(OwnGpu, IsTheOneOfTheLocalRankWhereAllAreVisible) {
  EXPECT_EQ(own_gpu(0, 4), 0);
  EXPECT_EQ(own_gpu(3, 4), 3);
  // Too few GPUs: the device refuses a number that does not exist.
  EXPECT_EQ(own_gpu(4, 4), 4);
}

TEST(OwnGpu, RanksThatShareOneAreNamed) {
  const std::string shared = gpu_of_host("node1", "0000:3B:00.0");
  try {
    require_distinct_gpus({shared, gpu_of_host("node1", "0000:5E:00.0"), shared});
    FAIL() << "two ranks on one GPU were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_STREQ(error.what(), "ranks 0 and 2 share the GPU 0000:3B:00.0 of node1");
  }
}

TEST(OwnGpu, TwoMigInstancesOfAGpuAreDistinctThoughTheirPciIdsAreNot) {
  const std::string first = gpu_id("0000:3B:00.0", "MIG-11111111-2222");
  const std::string second = gpu_id("0000:3B:00.0", "MIG-33333333-4444,MIG-11111111-2222");
  EXPECT_NO_THROW(
      require_distinct_gpus({gpu_of_host("node1", first), gpu_of_host("node1", second)}));
  EXPECT_THROW(require_distinct_gpus({gpu_of_host("node1", first), gpu_of_host("node1", first)}),
               Error);
  EXPECT_EQ(pci_id_in(first), "0000:3B:00.0");
  EXPECT_EQ(gpu_id("0000:3B:00.0", "2,3"), "0000:3B:00.0");
  EXPECT_EQ(gpu_id("0000:3B:00.0", nullptr), "0000:3B:00.0");
  EXPECT_EQ(gpu_id("", "MIG-11111111-2222"), "");
}

TEST(OwnGpu, TheSamePciIdOnTwoHostsIsTwoGpus) {
  EXPECT_NO_THROW(require_distinct_gpus(
      {gpu_of_host("node1", "0000:3B:00.0"), gpu_of_host("node2", "0000:3B:00.0")}));
  EXPECT_NO_THROW(require_distinct_gpus({gpu_of_host("node1", ""), gpu_of_host("node1", "")}));
}

}  // namespace
}  // namespace lockstep::comm
