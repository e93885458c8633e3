#include "lockstep/measure/others_share.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "lockstep/measure/core_map.h"

namespace lockstep::measure {
namespace {

constexpr char kStat[] =
    "cpu  300 0 0 300 0 0 0 0 0 0\n"
    "cpu0 100 0 0 110 10 0 0 0 0 0\n"
    "cpu1 105 3 4 100 0 1 2 5 55 0\n"
    "cpu12 110 0 0 120 0 0 0 0 0 0\n"
    "intr 12399 0 0\n";

void expect_ticks(std::vector<int> cpus, double busy, double all, const char* text = kStat) {
  const CpuTicks ticks = cpu_ticks(text, cpus);
  EXPECT_EQ(ticks.busy, busy);
  EXPECT_EQ(ticks.all, all);
}

TEST(CpuTicks, AreThoseOfTheThreadsAskedFor) {
  expect_ticks({0}, 100, 220);
  expect_ticks({1}, 120, 220);
  expect_ticks({12}, 110, 230);
  expect_ticks({0, 1}, 220, 440);
}

TEST(CpuTicks, UnreadableThreadsCountNothing) {
  expect_ticks({7}, 0, 0);
  expect_ticks({}, 0, 0);
  expect_ticks({0}, 0, 0, "");
  expect_ticks({0, 1}, 0, 0, "cpu0 x\ncpuA 1 2");
}

/// A child that computes for as long as this object lives.
class BusyChild {
 public:
  explicit BusyChild(bool of_init) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    // A grandchild whose parent has ended is nobody's child: this process cannot wait for it.
    if (of_init && ::fork() != 0) ::_exit(0);
    ::alarm(1);
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
  void wait() const { ::waitpid(pid_, nullptr, 0); }

 private:
  pid_t pid_ = 0;
};

double share_beside(bool of_init) {
  const OthersMeter meter(affinity_threads());
  const BusyChild child(of_init);
  child.wait();
  if (of_init) std::this_thread::sleep_for(std::chrono::milliseconds(900));
  return meter.share().value_or(-1);
}

TEST(OthersMeter, CountsOtherProgramsAndNotItsOwnChildren) {
  // Other tests may run on this machine, so that only the order is certain; the best of a few.
  double own = 1;
  double other = 0;
  for (int i = 0; i < 3 && own >= other; ++i) {
    own = share_beside(false);
    other = share_beside(true);
  }
  EXPECT_LT(own, other);
}

TEST(OthersMeter, ReturnsNothingWhereNothingCanBeRead) {
  EXPECT_EQ(OthersMeter(std::vector<int>{}).share(), std::nullopt);
  EXPECT_EQ(OthersMeter({99'999}).share(), std::nullopt);
}

}  // namespace
}  // namespace lockstep::measure
