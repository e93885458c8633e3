#include <signal.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "lockstep/base/rng.h"
#include "lockstep/record/choices.h"
#include "lockstep/store/store.h"
#include "parallel_run.h"

namespace lockstep {
namespace {

/// Studies of the shipped programs with real workers.
class RealStudy : public ParallelRun {
 protected:
  launch::ProcessSpec study(std::vector<std::string> more) const {
    launch::ProcessSpec spec;
    spec.program = LOCKSTEP_PROGRAM;
    spec.arguments = {"--store", folder("runs.db"), "study", "--name",
                      "s",       "--threads",       "1",     "--oversubscribe"};
    spec.arguments.insert(spec.arguments.end(), more.begin(), more.end());
    spec.environment = {"TMPDIR=" + folder("tmp")};
    spec.separate_errors = true;
    return spec;
  }

  std::vector<store::RunSummary> runs(std::optional<store::RunState> state = {}) const {
    if (!std::filesystem::exists(folder("runs.db"))) return {};
    store::RunFilter filter;
    filter.study = "s";
    filter.state = state;
    return store::Store(folder("runs.db")).runs(filter);
  }

  void clear_leftovers_of_a_killed_launcher() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "tmp")) {
      std::filesystem::remove_all(entry.path());
    }
  }
};

TEST_F(RealStudy, TakesEveryScheduleThatTheHelpNames) {
  for (const std::string& schedule : record::names_of<record::ScheduleShape>()) {
    run_to_success(study({"fashion", "--schedule", schedule, "--dry-run"}));
  }
}

TEST_F(RealStudy, KilledAtRandomMomentsItContinuesLosesNothingAndRunsNothingTwice) {
  const std::vector<std::string> small{"fashion", "--workers", "1,2",      "--batch", "32,64",
                                       "--steps", "12",        "--repeat", "2"};
  Rng rng(7);
  std::set<std::int64_t> finished;
  int rounds = 0;
  // A study of eight short runs; ten kills, at moments that range from its start to its third run.
  for (; rounds < 10; ++rounds) {
    auto process = launch::ChildProcess::start(study(small));
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + rng.below(5000)));
    const auto status = process.poll();
    if (!status) ::kill(process.pid(), SIGKILL);
    while (!process.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::set<std::int64_t> now;
    for (const auto& run : runs(store::RunState::kDone)) now.insert(run.id);
    for (const std::int64_t id : finished) EXPECT_TRUE(now.contains(id)) << "lost run " << id;
    finished = now;
  }
  clear_leftovers_of_a_killed_launcher();
  const auto captured = run_to_success(study(small));
  EXPECT_NE(captured.output.find("Verdict"), std::string::npos) << captured.output;
  std::map<std::pair<std::string, int>, int> times;
  for (const auto& run : runs(store::RunState::kDone)) ++times[{run.label.cell, run.label.repeat}];
  EXPECT_EQ(times.size(), 8u);
  for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key.first << " " << key.second;
}

TEST_F(RealStudy, ClimbsALadderUntilItsMemoryBudgetIsUsedUp) {
  const auto captured =
      run_to_success(study({"cifar-resnet18", "--data", "synthetic", "--workers", "1", "--batch",
                            "16..x16", "--steps", "1", "--memory", "1GB"}));
  EXPECT_NE(captured.output.find("ran out of memory"), std::string::npos) << captured.output;
  EXPECT_NE(captured.output.find("the largest batch that fits is b = "), std::string::npos)
      << captured.output;
  ASSERT_FALSE(runs(store::RunState::kDone).empty());
  ASSERT_EQ(runs(store::RunState::kFailed).size(), 1u)
      << "beyond the first that fails none is tried";
  EXPECT_TRUE(store::ran_out_of_memory(runs(store::RunState::kFailed).front()));
}

}  // namespace
}  // namespace lockstep
