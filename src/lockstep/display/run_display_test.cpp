#include "lockstep/display/run_display.h"

#include <gtest/gtest.h>

namespace lockstep::display {
namespace {

record::RunStarted quiet_run() {
  record::RunStarted started;
  started.spec.workers = 2;
  started.machine.cores = 4;
  return started;
}

TEST(TimingWarnings, AreAbsentOnAQuietMachine) {
  EXPECT_TRUE(timing_warnings(quiet_run()).empty());
}

TEST(TimingWarnings, ReportOversubscriptionAndGovernor) {
  record::RunStarted started = quiet_run();
  started.spec.oversubscribed = true;
  started.machine.governor = "powersave";
  const auto warnings = timing_warnings(started);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0], "2 workers x 1 thread on 4 cores: timings are unreliable");
  EXPECT_NE(warnings[1].find("powersave"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::display
