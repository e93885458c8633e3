#include "lockstep/measure/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "lockstep/base/test_folder.h"
#include "lockstep/measure/core_map.h"

namespace lockstep::measure {
namespace {

/// A made-up /proc and /sys.
class MachineTest : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) { folder_.write(file, text); }

  TestFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

TEST_F(MachineTest, ReadsVendorModelAndFlagsOfTheCpu) {
  put("proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
      "flags\t\t: fpu avx2 fma\n\nprocessor\t: 1\nvendor_id\t: Other\n");
  const CpuFacts facts = read_cpu(root_);
  EXPECT_EQ(facts.vendor, "AuthenticAMD");
  EXPECT_EQ(facts.model, "AMD EPYC");
  EXPECT_EQ(facts.flags, (std::vector<std::string>{"fpu", "avx2", "fma"}));
}

TEST_F(MachineTest, TakesTheLowestLimitUpTheTreeOfControlGroups) {
  put("proc/self/cgroup", "0::/outer/inner\n");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  put("sys/fs/cgroup/outer/memory.max", "1000000\n");
  const GroupLimits limits = read_group_limits(root_);
  EXPECT_EQ(limits.cores, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1000000);
}

TEST_F(MachineTest, ReadsLimitsOfTheOlderControlGroups) {
  put("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const GroupLimits limits = read_group_limits(root_);
  EXPECT_EQ(limits.cores, 2.5);
  EXPECT_EQ(limits.memory_bytes, 2000000000);
}

TEST_F(MachineTest, ReportsNothingWhereTheFilesAreMissing) {
  EXPECT_EQ(read_cpu(root_).model, "");
  EXPECT_FALSE(read_group_limits(root_).cores);
  EXPECT_FALSE(read_group_limits(root_).memory_bytes);
  EXPECT_EQ(read_governor(root_), "");
  EXPECT_EQ(read_memory_bytes(root_), 0);
  EXPECT_TRUE(read_nvidia_gpus(root_).empty());
}

TEST_F(MachineTest, ReadsMemoryGovernorAndGpus) {
  put("proc/meminfo", "MemTotal:       16000 kB\nMemFree: 5 kB\nMemAvailable:    8000 kB\n");
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  put("proc/driver/nvidia/gpus/0000:00:04.0/information", "Model: \t\t Tesla T4\nIRQ: 10\n");
  EXPECT_EQ(read_memory_bytes(root_), 16000 * 1024);
  EXPECT_EQ(read_available_memory_bytes(root_), 8000 * 1024);
  EXPECT_EQ(read_governor(root_), "powersave");
  EXPECT_EQ(read_nvidia_gpus(root_), std::vector<std::string>{"Tesla T4"});
}

TEST(Machine, DescribesTheOneItRunsOn) {
  const record::Machine machine = describe_machine();
  EXPECT_FALSE(machine.host.empty());
  EXPECT_FALSE(machine.system.empty());
  EXPECT_GT(machine.memory_bytes, 0);
  EXPECT_EQ(machine.cores, static_cast<int>(usable_cores().size()));
}

}  // namespace
}  // namespace lockstep::measure
