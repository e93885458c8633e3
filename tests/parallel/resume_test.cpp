#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "eventually.h"
#include "parallel_run.h"

namespace lockstep {
namespace {

bool exists_with_ending(const std::string& folder, const std::string& ending) {
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    if (entry.path().string().ends_with(ending)) return true;
  }
  return false;
}

class Resume : public ParallelRun {
 protected:
  launch::ProcessSpec checkpointed(const std::string& name,
                                   std::vector<std::string> more = {}) const {
    more.insert(more.end(),
                {"--steps", "60", "--checkpoint", folder(name), "--checkpoint-every", "7"});
    return train(2, 32, more);
  }

  /// Starts the run, waits for a file with that ending among its checkpoints, and sends the signal.
  void stop_when_there_is(const std::string& ending, const std::string& name, int signal) {
    stop_when([&] { return exists_with_ending(folder(name), ending); }, name, signal);
  }

  /// Kills it as soon as something changes among its checkpoints: of the four names that one of
  /// them goes through, the first has just been given.
  void kill_while_writing(const std::string& name) {
    std::filesystem::create_directories(folder(name));
    const auto before = std::filesystem::last_write_time(folder(name));
    stop_when([&] { return std::filesystem::last_write_time(folder(name)) != before; }, name,
              SIGKILL);
  }

  template <class Condition>
  void stop_when(Condition&& holds, const std::string& name, int signal) {
    auto process = launch::ChildProcess::start(checkpointed(name));
    ASSERT_TRUE(eventually(holds));
    ::kill(process.pid(), signal);
    ASSERT_TRUE(eventually([&] { return process.poll().has_value(); }));
  }

  void clear_leftovers_of_a_killed_launcher() const {
    // A launcher that is itself killed with -9 cannot remove its folder; its next start may.
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "tmp")) {
      std::filesystem::remove_all(entry.path());
    }
  }
};

TEST_F(Resume, ContinuesBitForBitAfterTheRunWasKilled) {
  const auto whole = run_to_success(checkpointed("whole"));
  stop_when_there_is(".json", "cut", SIGKILL);
  clear_leftovers_of_a_killed_launcher();
  const auto resumed = run_to_success(checkpointed("cut", {"--resume"}));
  const auto started = events<record::RunStarted>(resumed.output);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(digest_of(resumed), digest_of(whole));
  // The epoch's figures span both parts.
  const auto epochs = events<record::EpochResult>(resumed.output);
  const auto whole_epochs = events<record::EpochResult>(whole.output);
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_EQ(epochs[0].train_loss, whole_epochs.at(0).train_loss);
  EXPECT_EQ(epochs[0].examples, whole_epochs.at(0).examples);
}

/// Else a run that is killed and resumed would have gaps: no later attempt repeats these steps.
TEST_F(Resume, StepsAreInTheRecordBeforeTheirCheckpointIs) {
  const auto whole = run_to_success(checkpointed("whole"));
  std::int64_t recorded = 0;
  int checkpoints = 0;
  std::istringstream lines(whole.output);
  for (std::string line; std::getline(lines, line);) {
    const auto event = record::from_line(line);
    if (!event) continue;
    if (const auto* block = std::get_if<record::StepBlock>(&*event)) {
      for (const auto& step : block->steps) recorded = std::max(recorded, step.step + 1);
    } else if (const auto* written = std::get_if<record::CheckpointWritten>(&*event)) {
      EXPECT_GE(recorded, written->step);
      ++checkpoints;
    }
  }
  EXPECT_EQ(recorded, 60);
  EXPECT_GE(checkpoints, 2);
}

TEST_F(Resume, SurvivesAKillInTheMiddleOfWritingACheckpoint) {
  const auto whole = run_to_success(checkpointed("whole"));
  for (int round = 0; round < 3; ++round) {
    kill_while_writing("cut");
    clear_leftovers_of_a_killed_launcher();
  }
  const auto resumed = run_to_success(checkpointed("cut", {"--resume"}));
  EXPECT_EQ(digest_of(resumed), digest_of(whole));
}

TEST_F(Resume, StopsCleanlyOnInterruptAndContinuesToTheSameEnd) {
  const auto whole = run_to_success(checkpointed("whole"));
  stop_when_there_is(".json", "cut", SIGINT);
  const auto resumed = run_to_success(checkpointed("cut", {"--resume"}));
  EXPECT_EQ(digest_of(resumed), digest_of(whole));
}

TEST_F(Resume, KeepsTheMemoryOfAnyOptimizer) {
  for (const std::string optimizer : {"adamw", "lamb"}) {
    const std::vector<std::string> options{"--optimizer", optimizer,         "--schedule",
                                           "constant",    "--warmup-epochs", "0"};
    auto first_part = options, resumed_options = options;
    first_part.insert(first_part.end(),
                      {"--steps", "21", "--checkpoint", folder("cut-" + optimizer)});
    resumed_options.push_back("--resume");
    run_to_success(train(2, 32, first_part));
    const auto whole = run_to_success(checkpointed("whole-" + optimizer, options));
    const auto resumed = run_to_success(checkpointed("cut-" + optimizer, resumed_options));
    EXPECT_EQ(digest_of(resumed), digest_of(whole)) << optimizer;
  }
}

TEST_F(Resume, RefusesTheMemoryOfAnotherOptimizer) {
  run_to_success(checkpointed("run"));
  const auto refused = run(checkpointed("run", {"--resume", "--optimizer", "adam"}));
  EXPECT_EQ(refused.status.code, 4);
  EXPECT_NE(refused.errors.find("contains the state of optimizer sgd, not of adam"),
            std::string::npos)
      << refused.errors;
}

TEST_F(Resume, PassesOverADamagedCheckpoint) {
  const auto whole = run_to_success(checkpointed("run"));
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder("run"))) {
    if (entry.path().extension() == ".pt") newest = std::max(newest, entry.path());
  }
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  const auto resumed = run_to_success(checkpointed("run", {"--resume"}));
  EXPECT_NE(resumed.errors.find("does not match its manifest"), std::string::npos)
      << resumed.errors;
  EXPECT_EQ(digest_of(resumed), digest_of(whole));
}

TEST_F(Resume, RefusesACheckpointOfAnotherRun) {
  run_to_success(checkpointed("run"));
  const auto refused = run(checkpointed("run", {"--resume", "--seed", "9"}));
  EXPECT_EQ(refused.status.code, 4);
  EXPECT_NE(refused.errors.find("was written with seed 1"), std::string::npos) << refused.errors;
}

}  // namespace
}  // namespace lockstep
