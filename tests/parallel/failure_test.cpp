#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "eventually.h"
#include "parallel_run.h"

namespace lockstep {

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t close = text.rfind(')');
    if (close == std::string::npos) continue;
    if (std::stoi(text.substr(close + 4)) == parent) children.push_back(std::stoi(name));
  }
  return children;
}

namespace {

/// The rank of a worker process, from its environment.
int rank_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ");
  std::string variable;
  while (std::getline(in, variable, '\0')) {
    if (variable.starts_with("LOCKSTEP_RANK=")) return std::stoi(variable.substr(14));
  }
  return -1;
}

class Failure : public ParallelRun {
 protected:
  /// Waits until the launcher has a worker of that rank.
  static pid_t worker(const launch::ChildProcess& launcher, int rank) {
    pid_t found = -1;
    eventually([&] {
      for (pid_t pid : children_of(launcher.pid())) {
        if (rank_of(pid) == rank) found = pid;
      }
      return found > 0;
    });
    return found;
  }

  /// Everything the process prints until it ends.
  static std::string drain(FileDescriptor& from, launch::ChildProcess& process) {
    std::string text;
    eventually([&] {
      const bool ended = process.poll().has_value();
      char buffer[4096];
      ssize_t got = 0;
      while ((got = ::read(from.get(), buffer, sizeof buffer)) > 0) {
        text.append(buffer, static_cast<std::size_t>(got));
      }
      return ended;
    });
    return text;
  }

  static void expect_named_death(launch::ChildProcess& launcher, int rank) {
    const std::string errors = drain(launcher.errors(), launcher);
    const auto status = launcher.poll();
    ASSERT_TRUE(status.has_value()) << "the launcher hangs";
    EXPECT_EQ(status->code, 5) << errors;
    EXPECT_NE(errors.find("worker " + std::to_string(rank)), std::string::npos) << errors;
    EXPECT_NE(errors.find("signal 9"), std::string::npos) << errors;
  }
};

TEST_F(Failure, ARankKilledWhileDataIsReadEndsTheRun) {
  auto launcher = launch::ChildProcess::start(train(2, 32, {"--epochs", "50"}));
  ::kill(worker(launcher, 1), SIGKILL);
  expect_named_death(launcher, 1);
}

class FailureInAllReduce : public Failure, public ::testing::WithParamInterface<const char*> {};

TEST_P(FailureInAllReduce, ARankKilledThereEndsTheRun) {
  auto launcher =
      launch::ChildProcess::start(train(2, 32, {"--epochs", "50", "--backend", GetParam()}));
  // Stopped first, so that the other rank is certain to wait in the all-reduce.
  std::string output;
  ASSERT_TRUE(eventually([&] {
    char buffer[65536];
    const ssize_t got = ::read(launcher.output().get(), buffer, sizeof buffer);
    if (got > 0) output.append(buffer, static_cast<std::size_t>(got));
    return output.find("\"progress\"") != std::string::npos;
  }));
  const pid_t victim = worker(launcher, 1);
  ::kill(victim, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(victim, SIGKILL);
  expect_named_death(launcher, 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, FailureInAllReduce, ::testing::Values("shm", "gloo"));

TEST_F(Failure, ARankThatHangsIsNamedAtTheTimeout) {
  auto launcher = launch::ChildProcess::start(train(2, 32, {"--epochs", "50", "--timeout", "2"}));
  std::string output;
  ASSERT_TRUE(eventually([&] {
    char buffer[65536];
    const ssize_t got = ::read(launcher.output().get(), buffer, sizeof buffer);
    if (got > 0) output.append(buffer, static_cast<std::size_t>(got));
    return output.find("\"progress\"") != std::string::npos;
  }));
  ::kill(worker(launcher, 1), SIGSTOP);
  const std::string errors = drain(launcher.errors(), launcher);
  ASSERT_TRUE(launcher.poll().has_value());
  EXPECT_EQ(launcher.poll()->code, 5);
  // In the all-reduce, or in the wait for all updates after it.
  EXPECT_NE(errors.find("rank 1 did not reach the "), std::string::npos) << errors;
  EXPECT_NE(errors.find(" within 2.00 s"), std::string::npos) << errors;
}

TEST_F(Failure, ARankKilledWhileItWritesACheckpointEndsTheRun) {
  auto launcher = launch::ChildProcess::start(
      train(2, 32, {"--epochs", "50", "--checkpoint", folder("kept"), "--checkpoint-every", "1"}));
  const pid_t writer = worker(launcher, 0);
  ASSERT_TRUE(eventually([&] {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(folder("kept"), absent)) {
      if (entry.path().extension() == ".tmp") return true;
    }
    return false;
  }));
  ::kill(writer, SIGKILL);
  expect_named_death(launcher, 0);
}

TEST_F(Failure, ALossThatIsNotFiniteStopsWithStepAndRank) {
  const auto stopped = run(train(2, 32, {"--steps", "50", "--lr", "1e6"}));
  EXPECT_EQ(stopped.status.code, 4);
  EXPECT_NE(stopped.errors.find("the loss is not a finite number at step"), std::string::npos)
      << stopped.errors;
  EXPECT_NE(stopped.errors.find("--keep-going"), std::string::npos);
  const auto ignored = run(train(2, 32, {"--steps", "10", "--lr", "1e6", "--keep-going"}));
  EXPECT_TRUE(ignored.status.clean()) << ignored.errors;
}

TEST_F(Failure, BadDataIsNamedAndKeepsItsExitCode) {
  std::filesystem::create_directory(folder("data"));
  std::ofstream(folder("data") + "/train-images-idx3-ubyte") << "not an IDX file";
  const auto failed = run(train(2, 32, {"--data", folder("data")}));
  EXPECT_EQ(failed.status.code, 4);
  EXPECT_NE(failed.errors.find("train-images-idx3-ubyte"), std::string::npos) << failed.errors;
}

}  // namespace
}  // namespace lockstep
