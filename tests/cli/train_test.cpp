#include <fmt/format.h>
#include <pty.h>
#include <sys/wait.h>

#include <csignal>
#include <sstream>

#include "cli_test.h"
#include "lockstep/measure/machine.h"
#include "lockstep/record/event.h"
#include "lockstep/store/store.h"

namespace lockstep {
namespace {

class Train : public CliTest {
 protected:
  store::StoredRun only_run() const {
    store::Store runs(store().string());
    const auto list = runs.runs();
    EXPECT_EQ(list.size(), 1u);
    return runs.load(list.at(0).id);
  }

  void expect_no_leftovers() const {
    EXPECT_TRUE(std::filesystem::is_empty(temporary()));
    for (const int pid : worker_pids()) EXPECT_FALSE(is_alive(pid)) << pid;
  }
};

TEST_F(Train, ShowsEpochsAndWhereTheTimeWentAndKeepsTheRun) {
  const auto captured = run(train({"--epochs", "3"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  for (const char* text :
       {"1/3", "3/3", "where the time went", "backward", "comm: wait", "the first 10 are warm-up",
        "started 20", "peak memory per worker 123 MB", "run 1 in "}) {
    EXPECT_NE(captured.output.find(text), std::string::npos) << text << "\n" << captured.output;
  }
  EXPECT_EQ(captured.output.find("slowest rank"), std::string::npos) << "none waited for another";
  const auto run = only_run();
  EXPECT_EQ(run.summary.state, store::RunState::kDone);
  EXPECT_EQ(run.epochs.size(), 3u);
  EXPECT_EQ(run.steps, 2 * 3 * 20);
  EXPECT_EQ(run.started.spec.workers, 2);
  expect_no_leftovers();
}

TEST_F(Train, RecordsTheWholeMachineNotAWorkersShareOfIt) {
  ASSERT_EQ(run(train({})).status.code, 0);
  EXPECT_EQ(only_run().started.machine.cores, measure::describe_machine().cores);
  EXPECT_EQ(only_run().started.machine.host, measure::describe_machine().host);
}

TEST_F(Train, KeepsWhatWentWrongBeforeTheRunBegan) {
  const auto captured = run(train(
      {"--restarts", "2", "--checkpoint", (folder_ / "checkpoints").string()},
      {"FAKE_WORKER_EARLY=kill9", "FAKE_WORKER_EARLY_ONCE=" + (folder_ / "killed").string()}));
  ASSERT_EQ(captured.status.code, 0) << captured.errors;
  const auto run = only_run();
  EXPECT_EQ(run.summary.state, store::RunState::kDone);
  ASSERT_EQ(run.errors.size(), 2u);
  EXPECT_NE(run.errors[0].message.find("killed by signal 9"), std::string::npos)
      << run.errors[0].message;
  EXPECT_EQ(run.errors[1].kind, "restarted");
  expect_no_leftovers();
}

TEST_F(Train, PrintsNoEscapeCodesWhereThereIsNoTerminal) {
  const auto captured = run(train({}));
  EXPECT_EQ(captured.output.find('\033'), std::string::npos);
  EXPECT_EQ(captured.errors.find('\033'), std::string::npos);
  EXPECT_EQ(captured.output.find('\r'), std::string::npos);
}

TEST_F(Train, ShowsAProgressBarOnATerminalAndErasesItAtTheEnd) {
  const auto spec = train({"--epochs", "2"}, {"FAKE_WORKER_STEP_MS=5"});
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    std::vector<char*> arguments{const_cast<char*>(spec.program.c_str())};
    for (const auto& argument : spec.arguments)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    for (const auto& entry : spec.environment) ::putenv(const_cast<char*>(entry.c_str()));
    ::setenv("TERM", "xterm", 1);
    ::execv(spec.program.c_str(), arguments.data());
    ::_exit(127);
  }
  std::string seen;
  char buffer[4096];
  for (ssize_t got; (got = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    seen.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << seen;
  EXPECT_NE(seen.find("\repoch 1/2 [="), std::string::npos) << seen;
  EXPECT_NE(seen.find("ETA "), std::string::npos);
  const std::size_t last_bar = seen.rfind("] ");
  EXPECT_NE(seen.find("\r\033[K", last_bar), std::string::npos) << "the last bar stays";
}

TEST_F(Train, PrintsEventsAsJsonLinesOnRequest) {
  const auto captured = run(train({"--json"}));
  EXPECT_EQ(captured.status.code, 0);
  std::istringstream lines(captured.output);
  std::vector<record::Event> events;
  int forecasts = 0;
  for (std::string line; std::getline(lines, line);) {
    // Forecasts are the program's own lines, not part of a run's record.
    if (const auto event = record::from_line(line)) {
      events.push_back(*event);
    } else {
      EXPECT_NE(line.find("\"type\":\"forecast"), std::string::npos) << line;
      ++forecasts;
    }
  }
  EXPECT_GT(forecasts, 0);
  ASSERT_GT(events.size(), 40u);
  EXPECT_TRUE(std::holds_alternative<record::RunStarted>(events.front()));
  EXPECT_TRUE(std::holds_alternative<record::RunEnded>(events.back()));
}

TEST_F(Train, ShowsWhatWorkersPrintWithTheirRank) {
  const auto captured = run(train({}, {"FAKE_WORKER=1:3:talk"}));
  EXPECT_EQ(captured.status.code, 0);
  EXPECT_NE(captured.errors.find("[rank 1/2] hello from the worker\n"), std::string::npos);
}

TEST_F(Train, GivesWorkersTheirThreadsAndASecretAndLeavesNothingBehind) {
  const auto captured = run(train({}, {"FAKE_WORKER=1:3:surroundings", "OPENBLAS_CORETYPE=Mine"}));
  EXPECT_EQ(captured.status.code, 0);
  for (const std::string& text :
       {std::string("OMP_NUM_THREADS=1"), std::string("OPENBLAS_CORETYPE=Mine"),
        std::string("LOCKSTEP_LOCAL_RANK=1"), std::string("LOCKSTEP_LOCAL_SIZE=2"),
        std::string("a secret of 64 digits")}) {
    EXPECT_NE(captured.errors.find("[rank 1/2] " + text), std::string::npos) << captured.errors;
  }
  expect_no_leftovers();
}

TEST_F(Train, CopesWithAWorkerThatPrintsMegabytesWithoutALineBreak) {
  const auto captured = run(train({}, {"FAKE_WORKER=0:3:endless"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors.substr(0, 1000);
}

struct Deed {
  std::string name;
  int code;
  std::string message;
};

TEST_F(Train, EndsAllWhenOneWorkerFailsAndReportsTheFirstCause) {
  const std::vector<Deed> deeds{
      {"kill9", 5, "error: worker 1 (rank 1 of 2) was killed by signal 9 (Killed)"},
      {"abort", 5, "error: worker 1 (rank 1 of 2) was killed by signal 6 (Aborted)"},
      {"exit7", 5, "error: worker 1 (rank 1 of 2) ended with exit code 7"},
      {"garbage", 5, "error: worker 1 (rank 1 of 2) failed: it sent an invalid record"},
      {"peer", 5, "error: worker 1 (rank 1 of 2) failed: some rank is gone"},
      {"nan", 5, "error: worker 1 (rank 1 of 2) failed: the loss is nan in step 5"},
      {"data", 4, "error: images.gz: truncated at byte 4711\nhint: download the file again"},
      {"environment", 3, "error: no memory left"},
      {"usage", 2, "error: there is no such recipe"},
  };
  std::int64_t runs = 0;
  for (const Deed& deed : deeds) {
    const auto captured = run(train({"--epochs", "3"}, {"FAKE_WORKER=1:30:" + deed.name}));
    EXPECT_EQ(captured.status.code, deed.code) << deed.name;
    EXPECT_NE(captured.errors.find(deed.message), std::string::npos) << deed.name << "\n"
                                                                     << captured.errors;
    EXPECT_EQ(captured.output.find("3/3"), std::string::npos);
    const auto stored = store::Store(store().string()).load(++runs);
    EXPECT_EQ(stored.summary.state, store::RunState::kFailed) << deed.name;
    EXPECT_EQ(stored.epochs.size(), 1u) << deed.name;  // the one that was finished before step 30
    EXPECT_EQ(stored.errors.size(), 1u) << deed.name;
    expect_no_leftovers();
  }
}

TEST_F(Train, NamesAWorkerThatLeavesBeforeTheOthers) {
  const auto captured = run(train({"--timeout", "0.3"}, {"FAKE_WORKER=1:30:leave"}));
  const auto again = run(train({"--timeout", "0.3", "--epochs", "2"}, {"FAKE_WORKER=1:30:leave"}));
  EXPECT_EQ(captured.status.code, 0);  // 20 steps: it never came to step 30
  EXPECT_EQ(again.status.code, 5);
  EXPECT_NE(again.errors.find("worker 1 (rank 1 of 2) ended while the others were still training"),
            std::string::npos)
      << again.errors;
}

TEST_F(Train, ReportsThatARankHangsWhenItsPeersTimeOut) {
  const auto captured = run(train({"--timeout", "0.3"}, {"FAKE_WORKER=1:5:hang"}));
  EXPECT_EQ(captured.status.code, 5);
  EXPECT_NE(captured.errors.find("rank 1 did not come to step 5"), std::string::npos);
  expect_no_leftovers();
}

TEST_F(Train, CallsARunWithoutAnEndAFailure) {
  const auto captured = run(train({}, {"FAKE_WORKER=0:3:leave"}));
  EXPECT_EQ(captured.status.code, 5);
  EXPECT_NE(captured.errors.find("worker 0 (rank 0 of 2) ended without completing"),
            std::string::npos);
}

TEST_F(Train, ShowsTheLastWordsOfAWorkerThatDied) {
  const auto captured = run(train({}, {"FAKE_WORKER=1:3:last-words"}));
  EXPECT_EQ(captured.status.code, 5);
  EXPECT_NE(captured.errors.find("last output of worker 1 (rank 1 of 2):\n  alas"),
            std::string::npos)
      << captured.errors;
}

class Interruption : public Train {
 protected:
  /// A run of an hour that has trained a few steps.
  launch::ChildProcess long_run(const std::vector<std::string>& environment = {}) {
    auto spec = train({"--epochs", "100000", "--json"}, environment);
    launch::ChildProcess process = launch::ChildProcess::start(spec);
    EXPECT_TRUE(read_until(process, "\"epoch\":2", output_)) << output_;
    return process;
  }

  launch::ExitStatus end_of(launch::ChildProcess& process) {
    std::optional<launch::ExitStatus> status;
    char buffer[65536];
    const bool ended = eventually([&] {
      while (::read(process.output().get(), buffer, sizeof buffer) > 0) {
      }
      status = process.poll();
      return status.has_value();
    });
    EXPECT_TRUE(ended);
    return status.value_or(launch::ExitStatus{});
  }

  std::string output_;
  std::string said_;  ///< on stderr
};

TEST_F(Interruption, EndsTheRunAtTheNextStepAndClosesItsRecord) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::filesystem::remove(store());
    output_.clear();
    launch::ChildProcess process = long_run();
    ::kill(process.pid(), number);
    EXPECT_EQ(end_of(process).code, 130);
    const auto run = only_run();
    EXPECT_EQ(run.summary.state, store::RunState::kInterrupted);
    EXPECT_GE(run.epochs.size(), 1u);
    expect_no_leftovers();
  }
}

TEST_F(Interruption, KillsWorkersThatDoNotStopOnTheSecondRequest) {
  launch::ChildProcess process = long_run({"FAKE_WORKER=0:45:stubborn"});
  const auto wait_for = [&](const std::string& text) {
    return eventually([&] {
      char buffer[4096];
      while (::read(process.output().get(), buffer, sizeof buffer) > 0) {
      }
      const ssize_t got = ::read(process.errors().get(), buffer, sizeof buffer);
      if (got > 0) said_.append(buffer, static_cast<std::size_t>(got));
      return said_.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(wait_for("[rank 0/2] will not stop")) << said_;
  ::kill(process.pid(), SIGINT);
  EXPECT_TRUE(wait_for("press Ctrl-C again")) << said_;
  ::kill(process.pid(), SIGINT);
  EXPECT_EQ(end_of(process).code, 130);
  EXPECT_EQ(only_run().summary.state, store::RunState::kInterrupted);
  expect_no_leftovers();
}

TEST_F(Interruption, LeavesNoWorkerBehindWhenLockstepItselfIsKilled) {
  launch::ChildProcess process = long_run();
  const std::vector<int> workers = worker_pids();
  ASSERT_EQ(workers.size(), 2u);
  ::kill(process.pid(), SIGKILL);
  EXPECT_EQ(end_of(process).signal, SIGKILL);
  for (const int pid : workers) {
    EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid;
  }
  const auto run = only_run();
  EXPECT_EQ(run.summary.state, store::RunState::kKilled);
  EXPECT_GE(run.epochs.size(), 1u);
}

class TrainStore : public Train {};

TEST_F(TrainStore, RefusesAStoreThatCannotBeWrittenBeforeAnyWorkerStarts) {
  for (const std::string& path : {folder_.string(), (folder_ / "missing" / "store.db").string()}) {
    auto spec = train({});
    for (auto& argument : spec.arguments) {
      if (argument.starts_with("--store=")) argument = "--store=" + path;
    }
    const auto captured = run(spec);
    EXPECT_EQ(captured.status.code, 4) << captured.errors;
    EXPECT_NE(captured.errors.find(path), std::string::npos) << captured.errors;
    EXPECT_TRUE(worker_pids().empty());
  }
}

TEST_F(TrainStore, LeavesAFileThatIsNotAStoreAsItIs) {
  std::ofstream(store()) << std::string(10'000, 'x');
  const auto captured = run(train({}));
  EXPECT_EQ(captured.status.code, 4) << captured.errors;
  EXPECT_EQ(std::filesystem::file_size(store()), 10'000u);
  EXPECT_TRUE(worker_pids().empty());
}

/// A limit on file sizes stands in for a full disk: writes fail in the same place.
TEST_F(TrainStore, ContinuesToTheEndWhenTheDiskIsFullAndReportsItOnce) {
  const auto inner = train({"--epochs", "20"});
  launch::ProcessSpec spec = inner;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\"", inner.program};
  spec.arguments.insert(spec.arguments.end(), inner.arguments.begin(), inner.arguments.end());
  const auto captured = run(spec);
  EXPECT_EQ(captured.status.code, 4) << captured.errors;
  EXPECT_NE(captured.output.find("20/20"), std::string::npos) << captured.output;
  const std::size_t warning = captured.errors.find("; the run continues");
  ASSERT_NE(warning, std::string::npos) << captured.errors;
  EXPECT_EQ(captured.errors.find("; the run continues", warning + 1), std::string::npos);
  EXPECT_NE(captured.errors.find("error: the record of this run is incomplete"), std::string::npos);
}

TEST_F(TrainStore, KeepsARunWhoseReaderWentAway) {
  const auto inner = train({"--epochs", "3"});
  launch::ProcessSpec spec = inner;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", "\"$0\" \"$@\" | head -n 1", inner.program};
  spec.arguments.insert(spec.arguments.end(), inner.arguments.begin(), inner.arguments.end());
  run(spec);
  EXPECT_EQ(only_run().summary.state, store::RunState::kDone);
}

}  // namespace
}  // namespace lockstep
