#include "lockstep/measure/busy_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lockstep/base/test_folder.h"

namespace lockstep::measure {
namespace {

TEST(BusyProcesses, ReadsTimesOfProcessesForAnyName) {
  const TestFolder root;
  root.file("proc/self/stat");
  root.write("proc/42/stat",
             "42 (odd (name) S) R 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 100 0 0\n");
  root.write("proc/43/stat", "43 cut short");
  const ProcessTimes times = read_process_times(root.path());
  ASSERT_EQ(times.processes.size(), 1u);
  EXPECT_EQ(times.processes.at(42).name, "odd (name) S");
  EXPECT_DOUBLE_EQ(
      times.processes.at(42).used.count() * static_cast<double>(::sysconf(_SC_CLK_TCK)), 200);
}

TEST(BusyProcesses, NamesTheBusiestFirstAndLeavesThisProcessOut) {
  ProcessTimes before;
  ProcessTimes after;
  const auto used = [&](pid_t pid, double from, double to) {
    before.processes[pid] = {"p" + std::to_string(pid), Seconds(from)};
    after.processes[pid] = {"p" + std::to_string(pid), Seconds(to)};
  };
  used(1, 100, 100);
  used(2, 5, 5.5);
  used(3, 7, 9);
  used(4, 0, 2);
  after.processes[5] = {"new", Seconds(9)};
  const auto busy = busy_between(before, after, Seconds(2), 0.1, 4);
  ASSERT_EQ(busy.size(), 2u);
  EXPECT_EQ(busy[0].name, "p3");
  EXPECT_DOUBLE_EQ(busy[0].cores, 1.0);
  EXPECT_DOUBLE_EQ(busy[1].cores, 0.25);
}

}  // namespace
}  // namespace lockstep::measure
