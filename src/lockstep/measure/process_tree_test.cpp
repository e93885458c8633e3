#include "lockstep/measure/process_tree.h"

#include <gtest/gtest.h>

#include "lockstep/base/test_folder.h"

namespace lockstep::measure {
namespace {

class ProcessTree : public testing::Test {
 protected:
  void add(int pid, int parent, int highest_kb, int resident_kb) const {
    folder_.write("proc/" + std::to_string(pid) + "/status",
                  "Name:\tpython3\nPPid:\t" + std::to_string(parent) + "\nVmHWM:\t   " +
                      std::to_string(highest_kb) + " kB\nVmRSS:\t   " +
                      std::to_string(resident_kb) + " kB\n");
  }

  TestFolder folder_;
};

TEST_F(ProcessTree, CountsDescendantsOfEveryGenerationAndNobodyElse) {
  add(10, 1, 900, 900);
  add(11, 10, 300, 100);
  add(12, 11, 200, 200);
  add(20, 1, 5000, 5000);
  const TreeUsage usage = read_tree_usage(10, folder_.path());
  EXPECT_EQ(usage.processes, 2);
  EXPECT_EQ(usage.largest_bytes, 300 * 1024);
  EXPECT_EQ(usage.resident_bytes, 300 * 1024);
}

TEST_F(ProcessTree, EndsWhereIdsFormARing) {
  add(11, 12, 1, 1);
  add(12, 11, 1, 1);
  EXPECT_EQ(read_tree_usage(10, folder_.path()).processes, 0);
}

}  // namespace
}  // namespace lockstep::measure
