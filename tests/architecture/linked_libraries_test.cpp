#include <gtest/gtest.h>

#include "lockstep/base/clock.h"
#include "lockstep/launch/process/captured_output.h"

namespace lockstep {
namespace {

TEST(LinkedLibraries, LockstepStartsWithoutLibTorch) {
  launch::ProcessSpec spec;
  spec.program = "ldd";
  spec.arguments = {LOCKSTEP_PROGRAM};
  const auto captured = launch::run_captured(spec, Seconds(30), SystemClock());
  ASSERT_TRUE(captured.status.clean()) << captured.output;
  EXPECT_NE(captured.output.find("libc.so"), std::string::npos) << captured.output;
  for (const char* library :
       {"torch", "libc10", "libmkl", "libdnnl", "libgloo", "libmpi", "simgrid"}) {
    EXPECT_EQ(captured.output.find(library), std::string::npos) << captured.output;
  }
}

}  // namespace
}  // namespace lockstep
