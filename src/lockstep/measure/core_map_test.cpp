#include "lockstep/measure/core_map.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "lockstep/base/test_folder.h"

namespace lockstep::measure {
namespace {

/// A made-up /sys.
class CoreMapTest : public ::testing::Test {
 protected:
  void put_cpu(int cpu, int package, int core, int node) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    folder_.write(folder + "/topology/physical_package_id", std::to_string(package) + "\n");
    folder_.write(folder + "/topology/core_id", std::to_string(core) + "\n");
    folder_.write(folder + "/node" + std::to_string(node) + "/cpulist", "");
  }

  std::vector<Core> first_cores(int cpus) {
    std::vector<int> numbers(static_cast<std::size_t>(cpus));
    std::iota(numbers.begin(), numbers.end(), 0);
    return cores_of(numbers, folder_.path());
  }

  TestFolder folder_;
};

TEST_F(CoreMapTest, TakesAsManyCoresAsHaveTheGivenHardwareThreads) {
  for (int cpu = 0; cpu < 8; ++cpu) put_cpu(cpu, 0, cpu % 4, 0);
  const std::vector<Core> cores = first_cores(8);  // four of two hardware threads
  EXPECT_EQ(at_most(cores, 8).size(), 4u);
  EXPECT_EQ(at_most(cores, 5).size(), 2u);
  EXPECT_EQ(at_most(cores, 1).size(), 1u);
}

TEST_F(CoreMapTest, UsesNoMoreCoresThanSlurmGave) {
  const std::size_t all = usable_cores().size();
  ASSERT_EQ(::setenv("SLURM_CPUS_ON_NODE", "1", 1), 0);
  EXPECT_EQ(usable_cores().size(), 1u);
  ASSERT_EQ(::setenv("SLURM_CPUS_ON_NODE", "2(x2)", 1), 0);
  EXPECT_EQ(usable_cores().size(), all) << "not a count";
  ASSERT_EQ(::unsetenv("SLURM_CPUS_ON_NODE"), 0);
}

TEST_F(CoreMapTest, JoinsTheHardwareThreadsOfACore) {
  // Two packages of two cores; numbers of cores repeat in each, second threads follow the first
  // ones.
  for (int cpu = 0; cpu < 8; ++cpu) put_cpu(cpu, cpu / 2 % 2, cpu % 2, cpu / 2 % 2);
  const std::vector<Core> cores = first_cores(8);
  ASSERT_EQ(cores.size(), 4u);
  EXPECT_EQ(cores[0].threads, (std::vector<int>{0, 4}));
  EXPECT_EQ(cores[1].threads, (std::vector<int>{1, 5}));
  EXPECT_EQ(cores[2].threads, (std::vector<int>{2, 6}));
  EXPECT_EQ(cores[1].node, 0);
  EXPECT_EQ(cores[2].node, 1);
  EXPECT_EQ(hardware_threads(cores), 8);
  EXPECT_EQ(describe_nodes(cores), (std::vector<std::string>{"node 0: 2 cores, CPUs 0-1,4-5",
                                                             "node 1: 2 cores, CPUs 2-3,6-7"}));
}

TEST_F(CoreMapTest, KeepsToTheThreadsThatAreGiven) {
  for (int cpu = 0; cpu < 4; ++cpu) put_cpu(cpu, 0, cpu % 2, 0);
  const std::vector<int> mask{1, 2, 3};
  const std::vector<Core> cores = cores_of(mask, folder_.path());
  ASSERT_EQ(cores.size(), 2u);
  EXPECT_EQ(cores[0].threads, (std::vector<int>{1, 3}));
  EXPECT_EQ(cores[1].threads, (std::vector<int>{2}));
}

TEST_F(CoreMapTest, TakesEachThreadForACoreWhereTheKernelDoesNotSay) {
  const std::vector<Core> cores = first_cores(3);
  ASSERT_EQ(cores.size(), 3u);
  EXPECT_EQ(cores[2].threads, std::vector<int>{2});
}

TEST(NumberList, JoinsRuns) {
  EXPECT_EQ(number_list({3, 1, 2, 8, 6}), "1-3,6,8");
  EXPECT_EQ(number_list({}), "");
}

TEST(UsableCores, AreThoseOfThisProcess) {
  const std::vector<int> threads = affinity_threads();
  for (const Core& core : usable_cores()) {
    for (const int thread : core.threads)
      EXPECT_NE(std::find(threads.begin(), threads.end(), thread), threads.end());
  }
}

}  // namespace
}  // namespace lockstep::measure
