#include "lockstep/launch/process/captured_output.h"

#include <gtest/gtest.h>

#include <csignal>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

ProcessSpec separate_shell(const std::string& script) {
  ProcessSpec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", script};
  spec.separate_errors = true;
  return spec;
}

TEST(CapturedOutput, KeepsBothStreamsAndTheExitCode) {
  ProcessSpec spec = separate_shell("echo out $WORD; echo err >&2; cat; exit 3");
  spec.environment = {"WORD=given"};
  const CapturedOutput captured = run_captured(spec, Seconds(30), SystemClock());
  EXPECT_EQ(captured.output, "out given\n");
  EXPECT_EQ(captured.errors, "err\n");
  EXPECT_EQ(captured.status.code, 3);
  EXPECT_FALSE(captured.timed_out);
}

TEST(CapturedOutput, KillsAProgramThatTakesTooLong) {
  const CapturedOutput captured =
      run_captured(separate_shell("echo begun; exec sleep 1000"), Seconds(0.2), SystemClock());
  EXPECT_TRUE(captured.timed_out);
  EXPECT_EQ(captured.status.signal, SIGKILL);
}

TEST(CapturedOutput, DoesNotWaitForBackgroundProcessesThatKeepTheStreamsOpen) {
  const CapturedOutput captured =
      run_captured(separate_shell("sleep 1000 & echo done"), Seconds(60), SystemClock());
  EXPECT_EQ(captured.output, "done\n");
  EXPECT_FALSE(captured.timed_out);
}

TEST(CapturedOutput, NamesAProgramThatCannotBeStarted) {
  ProcessSpec spec;
  spec.program = "/nonexistent/program";
  try {
    run_captured(spec, Seconds(1), SystemClock());
    FAIL() << "started a program that does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/program"), std::string::npos);
  }
}

TEST(FindProgram, LooksInPathAndTakesPathsAsTheyAre) {
  EXPECT_TRUE(find_program("sh").has_value());
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no-such-program-anywhere").has_value());
}

}  // namespace
}  // namespace lockstep::launch
