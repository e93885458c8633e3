#include "lockstep/launch/worker_group.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace lockstep::launch {
namespace {

/// Shell scripts replace workers: they use the same protocol.
ProcessSpec script(const std::string& text) {
  ProcessSpec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", "send() { printf '%s\\n' \"$1\" >&$LOCKSTEP_EVENT_FD; }\n" + text};
  return spec;
}

std::string sends(const record::Event& event) {
  return "send '" + record::to_line(event) + "'\n";
}
std::string ends_run() {
  return sends(record::RunEnded{});
}
std::string fails(const std::string& kind, const std::string& message) {
  return sends(record::WorkerError{-1, kind, message, "a hint"}) + "exit 5\n";
}
constexpr char kHangs[] = "exec sleep 1000\n";

class Recorder : public GroupObserver {
 public:
  void on_event(int rank, const record::Event& event) override { events.emplace_back(rank, event); }
  void on_output(int rank, std::string_view line) override {
    output.push_back(std::to_string(rank) + ":" + std::string(line));
    // Ctrl-C once the workers are known to run.
    if (line == "ready" && stop_when_ready) ::kill(::getpid(), SIGINT);
  }
  void on_stop(bool killing) override {
    stops.push_back(killing);
    if (!killing && insist) ::kill(::getpid(), SIGINT);
  }

  std::vector<std::pair<int, record::Event>> events;
  std::vector<std::string> output;
  std::vector<bool> stops;
  bool stop_when_ready = false;
  bool insist = false;
};

GroupOutcome run(const std::vector<std::string>& scripts, Recorder& recorder) {
  std::vector<ProcessSpec> specs;
  for (const std::string& text : scripts) specs.push_back(script(text));
  SignalInbox signals;
  GroupLimits limits;
  limits.end = Seconds(0.3);
  limits.cause = Seconds(0.3);
  limits.leave = Seconds(0.3);
  return run_group(std::move(specs), recorder, signals, SystemClock(), limits);
}

TEST(WorkerGroup, HandsOnEventsAndOutputOfWorkersThatSucceed) {
  Recorder recorder;
  const auto outcome = run({"echo hello\n" + ends_run(), "echo world >&2\n"}, recorder);
  EXPECT_FALSE(outcome.failure);
  ASSERT_EQ(recorder.events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<record::RunEnded>(recorder.events[0].second));
  std::sort(recorder.output.begin(), recorder.output.end());
  EXPECT_EQ(recorder.output, (std::vector<std::string>{"0:hello", "1:world"}));
  EXPECT_TRUE(outcome.workers[1].status->clean());
}

TEST(WorkerGroup, EndsRemainingRanksWhenOneIsKilled) {
  Recorder recorder;
  const auto outcome = run({kHangs, "echo last words\nkill -9 $$\n"}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_STREQ(outcome.failure->error.what(),
               "worker 1 (rank 1 of 2) was killed by signal 9 (Killed)");
  EXPECT_EQ(outcome.workers[1].last_lines, std::vector<std::string>{"last words"});
  EXPECT_EQ(outcome.workers[0].status->signal, SIGTERM);
  EXPECT_TRUE(outcome.workers[0].told_to_end);
}

TEST(WorkerGroup, RecognisesByItsLastLinesThatAWorkerRanOutOfMemory) {
  Recorder recorder;
  const auto outcome =
      run({kHangs, "echo 'terminate called: std::bad_alloc'\nkill -ABRT $$\n"}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->error.kind(), ErrorKind::kMemory) << outcome.failure->error.what();
}

TEST(WorkerGroup, KillsRanksThatIgnoreTheRequestToEnd) {
  Recorder recorder;
  // Rank 1 ends only once rank 0 is deaf to the request: opening a pipe waits for its other end.
  const std::string pipe = ::testing::TempDir() + "deaf-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto outcome = run({"trap '' TERM\n: > " + pipe + "\nwhile :; do sleep 1000; done\n",
                            ": < " + pipe + "\nexit 7\n"},
                           recorder);
  std::remove(pipe.c_str());
  ASSERT_TRUE(outcome.failure);
  EXPECT_STREQ(outcome.failure->error.what(), "worker 1 (rank 1 of 2) ended with exit code 7");
  EXPECT_EQ(outcome.workers[0].status->signal, SIGKILL);
}

TEST(WorkerGroup, ReportsTheCauseNotThePeersComplaint) {
  Recorder recorder;
  const auto outcome = run({fails("peer", "rank 1 is gone"), "kill -SEGV $$\n"}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->rank, 1);
}

TEST(WorkerGroup, ReportsThePeersComplaintWhenNoCauseComes) {
  Recorder recorder;
  const auto outcome = run({fails("peer", "rank 1 is silent"), kHangs}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_STREQ(outcome.failure->error.what(), "worker 0 (rank 0 of 2) failed: rank 1 is silent");
  EXPECT_EQ(exit_code(outcome.failure->error.kind()), 5);
}

TEST(WorkerGroup, KeepsTheKindAndHintOfADataError) {
  Recorder recorder;
  const auto outcome = run({kHangs, fails("data", "file.gz: truncated")}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_STREQ(outcome.failure->error.what(), "file.gz: truncated");
  EXPECT_EQ(outcome.failure->error.kind(), ErrorKind::kData);
  EXPECT_EQ(outcome.failure->error.hint(), "a hint");
}

TEST(WorkerGroup, CallsARecordThatIsNotOneAFailureOfThatWorker) {
  Recorder recorder;
  const auto outcome = run({"send 'not json'\n" + std::string(kHangs)}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_NE(std::string(outcome.failure->error.what()).find("invalid record"), std::string::npos);
}

TEST(WorkerGroup, EndsAWorkerThatDoesNotExitAfterTheRun) {
  Recorder recorder;
  const auto outcome = run({ends_run(), kHangs}, recorder);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->rank, 1);
}

TEST(WorkerGroup, PassesTheFirstRequestToStopOnAsAnInterrupt) {
  Recorder recorder;
  recorder.stop_when_ready = true;
  record::RunEnded interrupted;
  interrupted.status = record::RunStatus::kInterrupted;
  const auto outcome =
      run({"trap '" + std::string("printf \"%s\\n\" \"$ENDED\" >&$LOCKSTEP_EVENT_FD") +
           "; exit 0' INT\nENDED='" + record::to_line(interrupted) +
           "'\necho ready\nwhile :; do sleep 0.05; done\n"},
          recorder);
  EXPECT_FALSE(outcome.failure);
  EXPECT_TRUE(outcome.stop_requested);
  EXPECT_EQ(recorder.stops, std::vector<bool>{false});
  ASSERT_EQ(recorder.events.size(), 1u);
}

TEST(WorkerGroup, KillsOnTheSecondRequestToStop) {
  Recorder recorder;
  recorder.stop_when_ready = true;
  recorder.insist = true;
  const auto outcome =
      run({"trap '' INT TERM\necho ready\nwhile :; do sleep 1000; done\n"}, recorder);
  EXPECT_FALSE(outcome.failure);
  EXPECT_TRUE(outcome.stop_requested);
  EXPECT_EQ(recorder.stops, (std::vector<bool>{false, true}));
  EXPECT_EQ(outcome.workers[0].status->signal, SIGKILL);
}

TEST(WorkerGroup, CutsOutputWithoutLineBreaksIntoBoundedPieces) {
  Recorder recorder;
  const auto outcome = run({"head -c 200000 /dev/zero | tr '\\0' x\n" + ends_run()}, recorder);
  EXPECT_FALSE(outcome.failure);
  ASSERT_EQ(recorder.output.size(), 4u);
  std::size_t bytes = 0;
  for (const std::string& line : recorder.output) bytes += line.size() - 2;
  EXPECT_EQ(bytes, 200000u);
}

TEST(WorkerGroup, LeavesWorkersOnlyTheirOwnDescriptors) {
  Recorder recorder;
  const std::string count = "ls /proc/self/fd | wc -l";
  // What any child of this test inherits, however the test was started.
  std::FILE* plain = ::popen(count.c_str(), "r");
  int usual = 0;
  ASSERT_EQ(std::fscanf(plain, "%d", &usual), 1);
  ::pclose(plain);
  const auto outcome = run({count + "\n" + ends_run(), "", ""}, recorder);
  EXPECT_FALSE(outcome.failure);
  // Its event pipe comes on top, and nothing of its siblings'.
  EXPECT_EQ(recorder.output, std::vector<std::string>{"0:" + std::to_string(usual + 1)});
}

TEST(WorkerGroup, PinsAWorkerToItsCores) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  ProcessSpec spec = script("grep Cpus_allowed_list /proc/self/status\n" + ends_run());
  spec.cpus = {core};
  Recorder recorder;
  SignalInbox signals;
  const auto outcome = run_group({spec}, recorder, signals, SystemClock());
  EXPECT_FALSE(outcome.failure);
  EXPECT_EQ(recorder.output,
            std::vector<std::string>{"0:Cpus_allowed_list:\t" + std::to_string(core)});
}

}  // namespace
}  // namespace lockstep::launch
