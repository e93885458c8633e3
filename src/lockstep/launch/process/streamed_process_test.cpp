#include "lockstep/launch/process/streamed_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.program = "sh";
  spec.arguments = {"-c", script};
  return spec;
}

TEST(StreamedProcess, HandsOnEveryLineOfBothStreams) {
  SignalInbox signals;
  std::vector<std::string> lines;
  const auto outcome = run_streamed(
      shell("echo one; echo two >&2; printf three; exit 4"),
      [&](std::string_view line) {
        lines.emplace_back(line);
        return AfterLine::kGoOn;
      },
      signals, SystemClock());
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(outcome.status.code, 4);
  EXPECT_FALSE(outcome.stop_requested);
  EXPECT_FALSE(outcome.timed_out);
}

AfterLine interrupt_when_ready(std::string_view line) {
  if (line == "ready") ::raise(SIGINT);
  return AfterLine::kGoOn;
}

TEST(StreamedProcess, PassesARequestToStopOn) {
  SignalInbox signals;
  const auto outcome = run_streamed(
      shell("trap 'echo stopping; exit 9' INT; echo ready; while :; do sleep 0.01; done"),
      interrupt_when_ready, signals, SystemClock());
  EXPECT_EQ(outcome.status.code, 9);
  EXPECT_TRUE(outcome.stop_requested);
}

TEST(StreamedProcess, KillsAProgramThatDoesNotStop) {
  SignalInbox signals;
  const auto outcome = run_streamed(shell("trap '' INT; echo ready; while :; do sleep 0.01; done"),
                                    interrupt_when_ready, signals, SystemClock(),
                                    {.run = {}, .patience = Seconds(0)});
  EXPECT_EQ(outcome.status.signal, SIGKILL);
}

TEST(StreamedProcess, EndsAProgramAtItsDeadline) {
  SignalInbox signals;
  const auto outcome = run_streamed(shell("trap 'exit 9' INT; while :; do sleep 0.01; done"),
                                    [](std::string_view) { return AfterLine::kGoOn; }, signals,
                                    SystemClock(), {.run = Seconds(0.05), .patience = Seconds(30)});
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_FALSE(outcome.stop_requested);
  EXPECT_EQ(outcome.status.code, 9);
}

TEST(StreamedProcess, EndsAProgramThatHasDoneEnough) {
  SignalInbox signals;
  int lines = 0;
  const auto count = [&](std::string_view) {
    ++lines;
    return AfterLine::kGoOn;
  };
  const auto outcome =
      run_streamed(shell("trap 'exit 9' INT; while :; do echo step; sleep 0.01; done"),
                   LineTakers{count, count, [&] { return lines >= 3; }}, signals, SystemClock());
  EXPECT_TRUE(outcome.enough);
  EXPECT_FALSE(outcome.stop_requested);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.status.code, 9);
}

TEST(StreamedProcess, KillsAProgramThatStaysAfterItWasGivenUp) {
  SignalInbox signals;
  const auto outcome = run_streamed(shell("echo lost; while :; do sleep 0.01; done"),
                                    [](std::string_view) { return AfterLine::kEndSoon; }, signals,
                                    SystemClock(), {.run = {}, .patience = Seconds(0)});
  EXPECT_EQ(outcome.status.signal, SIGKILL);
  EXPECT_FALSE(outcome.timed_out);
}

TEST(StreamedProcess, LeavesNoProcessBehindEvenInAnotherSession) {
  SignalInbox signals;
  pid_t stray = 0;
  run_streamed(
      // The shell that setsid starts is in no process group of the program any more.
      shell("setsid sh -c 'echo $$; trap \"\" INT HUP; exec sleep 600' & read -r _ < /dev/null; "
            "sleep 0.2; exit 0"),
      [&](std::string_view line) {
        stray = std::stoi(std::string(line));
        return AfterLine::kGoOn;
      },
      signals, SystemClock());
  ASSERT_GT(stray, 0);
  EXPECT_EQ(::kill(stray, 0), -1);
}

/// Runs until killed, and writes the number of a process that left for another session to `report`.
[[noreturn]] void study_with_a_stray(int report) {
  SignalInbox signals;
  run_streamed(
      shell("setsid sh -c 'echo $$; trap \"\" INT HUP; exec sleep 600' & sleep 600"),
      [&](std::string_view line) {
        const pid_t stray = std::stoi(std::string(line));
        if (::write(report, &stray, sizeof stray) != sizeof stray) ::_exit(1);
        return AfterLine::kGoOn;
      },
      signals, SystemClock());
  ::_exit(0);
}

bool gone_within(pid_t pid, Seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < end) {
    if (::kill(pid, 0) != 0) return true;
    ::usleep(2000);
  }
  return false;
}

TEST(StreamedProcess, ItsDescendantsDieWithThisProcessAlsoInAnotherSession) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t guardian = ::fork();
  if (guardian == 0) study_with_a_stray(ends[1]);
  ::close(ends[1]);
  pid_t stray = 0;
  ASSERT_EQ(::read(ends[0], &stray, sizeof stray), static_cast<ssize_t>(sizeof stray));
  ::close(ends[0]);
  EXPECT_EQ(::kill(stray, 0), 0);
  ::kill(guardian, SIGKILL);
  ::waitpid(guardian, nullptr, 0);
  EXPECT_TRUE(gone_within(stray, Seconds(60)));
}

TEST(StreamedProcess, ASignalThatEndsTheProgramIsReported) {
  SignalInbox signals;
  const auto outcome = run_streamed(
      shell("kill -SEGV $$"), [](std::string_view) { return AfterLine::kGoOn; }, signals,
      SystemClock());
  EXPECT_EQ(outcome.status.signal, SIGSEGV);
}

TEST(StreamedProcess, NamesAProgramThatIsNotThere) {
  SignalInbox signals;
  ProcessSpec spec;
  spec.program = "no-such-program-anywhere";
  EXPECT_THROW(run_streamed(
                   spec, [](std::string_view) { return AfterLine::kGoOn; }, signals, SystemClock()),
               Error);
}

}  // namespace
}  // namespace lockstep::launch
