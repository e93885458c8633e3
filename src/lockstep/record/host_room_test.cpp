#include "lockstep/record/host_room.h"

#include <gtest/gtest.h>

namespace lockstep::record {
namespace {

RunSpec spec(int workers, int threads) {
  RunSpec made;
  made.workers = workers;
  made.threads_per_worker = threads;
  return made;
}

Machine cores(int count) {
  Machine made;
  made.cores = count;
  return made;
}

TEST(HostRoom, IsWhatFitsTheCoresWithTheThreadsOfEachWorker) {
  EXPECT_EQ(host_room(spec(1, 1), cores(8)), 8);
  EXPECT_EQ(host_room(spec(1, 3), cores(8)), 2);
}

TEST(HostRoom, GrowsWithTheHosts) {
  RunSpec two_hosts = spec(4, 2);
  two_hosts.nodes = 2;
  EXPECT_EQ(host_room(two_hosts, cores(8)), 8);
}

TEST(HostRoom, OfGpusIsTheirCount) {
  RunSpec on_gpu = spec(1, 4);
  on_gpu.device = "cuda";
  Machine machine = cores(8);
  machine.gpus = {"A100", "A100"};
  EXPECT_EQ(host_room(on_gpu, machine), 2);
}

TEST(HostRoom, IsAtLeastWhatWasRun) {
  EXPECT_EQ(host_room(spec(16, 1), cores(8)), 16);
}

TEST(HostRoom, IsUnknownOfAHostThatNobodyDescribed) {
  EXPECT_EQ(host_room(spec(16, 1), Machine{}), std::nullopt);
}

}  // namespace
}  // namespace lockstep::record
