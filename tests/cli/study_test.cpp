#include <csignal>
#include <map>
#include <set>

#include "lockstep/base/rng.h"
#include "study_fixture.h"

namespace lockstep {
namespace {

TEST_F(Study, RunsTheGridAndEndsWithTablesAndVerdict) {
  const auto captured = run(study({"--batch", "32,128", "--repeat", "2"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  for (const char* text : {"study s: 8 runs, 0 done", "duration unknown until the first run",
                           "warm-up: the first epoch", "8/8", "speedup", "Verdict"}) {
    EXPECT_TRUE(has(captured.output, text)) << text << "\n" << captured.output;
  }
  EXPECT_TRUE(has(captured.errors, "next:\n  lockstep report s --html s.html --store "))
      << captured.errors;
  std::set<std::tuple<int, std::int64_t, int>> seen;
  for (const auto& run : runs(store::RunState::kDone)) {
    seen.insert({run.spec.workers, run.spec.batch_per_worker, run.label.repeat});
    EXPECT_EQ(run.spec.seed, static_cast<std::uint64_t>(run.label.repeat));
    EXPECT_EQ(run.epochs_done, 2) << "a warm-up epoch and a measured one";
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST_F(Study, VariesTheThreadsOfAWorker) {
  const auto captured = run(command({"study", "fashion", "--workers", "1,2", "--threads", "1,2",
                                     "--oversubscribe", "--batch", "32", "--name", "s"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  std::set<std::pair<int, int>> seen;
  for (const auto& run : runs(store::RunState::kDone)) {
    seen.insert({run.spec.workers, run.spec.threads_per_worker});
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_TRUE(has(captured.output, "overlap, 1 thread ")) << captured.output;
  EXPECT_TRUE(has(captured.output, "overlap, 2 threads ")) << captured.output;
}

TEST_F(Study, RunsNothingTwice) {
  ASSERT_EQ(run(study({"--batch", "32"})).status.code, 0);
  ASSERT_EQ(runs().size(), 2u);
  const auto again = run(study({"--batch", "32"}));
  EXPECT_EQ(again.status.code, 0) << again.errors;
  EXPECT_EQ(runs().size(), 2u);
  EXPECT_TRUE(has(again.output, "2 runs, 2 done")) << again.output;
  ASSERT_EQ(run(study({"--batch", "32,64"})).status.code, 0);
  EXPECT_EQ(runs().size(), 4u) << "a larger grid adds only what is new";
}

TEST_F(Study, ShowsThePlanAndRunsNothingOnADryRun) {
  const auto captured = run(study({"--batch", "32,128", "--dry-run"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_TRUE(has(captured.output, "4 runs, 0 done")) << captured.output;
  EXPECT_FALSE(std::filesystem::exists(store()));
  EXPECT_TRUE(worker_pids().empty());
}

TEST_F(Study, RecordsAFailedRunAndContinuesWithTheRest) {
  // Rank 1 exists only where there are two workers.
  const auto captured = run(study({"--batch", "32,64"}, {"FAKE_WORKER=1:3:exit7"}));
  EXPECT_EQ(captured.status.code, 5) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 2u);
  EXPECT_EQ(runs(store::RunState::kFailed).size(), 2u);
  EXPECT_TRUE(has(captured.errors, "2 of 4 runs of study s failed")) << captured.errors;
  EXPECT_TRUE(has(captured.output, "failed: worker 1 (rank 1 of 2) ended with exit code 7"))
      << captured.output;

  const auto again = run(study({"--batch", "32,64"}));
  EXPECT_EQ(again.status.code, 5) << "failures stay known";
  EXPECT_EQ(runs().size(), 4u);
  const auto retried = run(study({"--batch", "32,64", "--retry-failed"}));
  EXPECT_EQ(retried.status.code, 0) << retried.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 4u);
}

TEST_F(Study, StopsAtOnceWhenTheCommandLineIsWrongForEveryRun) {
  const auto captured = run(study({"--batch", "32,64"}, {"FAKE_WORKER_EARLY=usage"}));
  EXPECT_EQ(captured.status.code, 2) << captured.errors;
  EXPECT_TRUE(runs().empty());
}

TEST_F(Study, RecordsARunThatFailedBeforeItBegan) {
  const auto captured = run(study({"--batch", "32"}, {"FAKE_WORKER_EARLY=environment"}));
  EXPECT_EQ(captured.status.code, 5) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kFailed).size(), 2u);
}

TEST_F(Study, RefusesWhatCannotBeRun) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& sentence) {
    const auto captured = run(command(arguments));
    EXPECT_EQ(captured.status.code, 2) << captured.errors;
    EXPECT_TRUE(has(captured.errors, sentence)) << captured.errors;
  };
  refused({"study", "--workers", "1,100000000"}, "--workers 100000000 is out of range");
  refused({"study", "--workers", "1,4096"}, "--oversubscribe");
  refused({"study", "--workers", "1,x"}, "'1,x' is not a list of numbers");
  refused({"study", "--workers", "3", "--threads", "1", "--oversubscribe", "--global-batch", "100"},
          "a global batch of 100 cannot be divided equally among 3 workers");
  refused({"study", "--strategy", "ring"}, "--strategy 'ring' is unknown");
}

TEST_F(Study, ChecksNamesBeforeTheFirstRun) {
  const auto recipe = run(command({"study", "fashionn", "--dry-run"}));
  EXPECT_EQ(recipe.status.code, 2) << recipe.errors;
  EXPECT_TRUE(has(recipe.errors, "unknown recipe 'fashionn'")) << recipe.errors;
  const auto schedule = run(command({"study", "--schedule", "cosinus", "--dry-run"}));
  EXPECT_EQ(schedule.status.code, 2) << schedule.errors;
  EXPECT_TRUE(has(schedule.errors, "--schedule 'cosinus' is unknown")) << schedule.errors;
}

TEST_F(Study, ClimbsALadderUntilMemoryRunsOutAndCallsThatAResult) {
  const std::vector<std::string> arguments{"--batch", "32..x4", "--memory", "8GB"};
  const std::vector<std::string> small{"FAKE_WORKER_FITS=600"};
  const auto captured = run(study(arguments, small));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_TRUE(has(captured.output,
                  "ladder on 2 workers, overlap: the largest batch that fits is b "
                  "= 512 (B = 1,024); b = 2,048 (B = 4,096) ran out of memory."))
      << captured.output;
  EXPECT_TRUE(has(captured.output, "b = 2048 ran out of memory")) << captured.output;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 6u) << "32, 128 and 512 on one and two workers";
  EXPECT_EQ(runs(store::RunState::kFailed).size(), 2u);
  EXPECT_EQ(run(study(arguments, small)).status.code, 0);
  EXPECT_EQ(runs().size(), 8u) << "what does not fit is not tried again";
}

TEST_F(Study, ReportsWhenTimesContainTheWarmUp) {
  const auto one = run(study({"--batch", "32", "--epochs", "1"}));
  EXPECT_TRUE(has(one.output, "include the warm-up")) << one.output;
}

TEST_F(Study, ContinuesAfterCtrlC) {
  const std::vector<std::string> slow{"FAKE_WORKER_STEP_MS=10"};
  auto process = launch::ChildProcess::start(study({"--batch", "32,64"}, slow));
  std::string output;
  ASSERT_TRUE(read_until(process, "1/4", output)) << output;
  ASSERT_TRUE(eventually([&] { return runs().size() == 2; }));
  process.signal(SIGINT);
  std::optional<launch::ExitStatus> status;
  ASSERT_TRUE(eventually([&] { return (status = process.poll()).has_value(); }));
  EXPECT_EQ(status->code, 130);
  const auto captured = run(study({"--batch", "32,64"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 4u);
}

TEST_F(Study, LosesNoFinishedRunAndRunsNoneTwiceHoweverOftenItIsKilled) {
  const std::vector<std::string> arguments{"--batch", "32,64,128", "--repeat", "2"};
  const std::vector<std::string> slow{"FAKE_WORKER_STEP_MS=3"};
  Rng rng(2024);
  std::map<std::int64_t, std::string> finished;
  for (int round = 0; round < 10; ++round) {
    auto process = launch::ChildProcess::start(study(arguments, slow));
    std::string output;
    // Somewhere within the first runs of this attempt: the moment differs each time.
    const auto wait = std::chrono::milliseconds(50 + rng.below(400));
    std::this_thread::sleep_for(wait);
    ::kill(process.pid(), SIGKILL);
    ASSERT_TRUE(eventually([&] { return process.poll().has_value(); }));
    std::set<std::int64_t> now;
    for (const auto& run : runs(store::RunState::kDone)) now.insert(run.id);
    for (const auto& [id, cell] : finished) EXPECT_TRUE(now.contains(id)) << "lost run " << id;
    for (const auto& run : runs(store::RunState::kDone)) finished[run.id] = run.label.cell;
  }
  const auto captured = run(study(arguments));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  std::map<std::pair<std::string, int>, int> times;
  for (const auto& run : runs(store::RunState::kDone)) {
    ++times[{run.label.cell, run.label.repeat}];
  }
  EXPECT_EQ(times.size(), 12u);
  for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key.first << " " << key.second;
  for (const int pid : worker_pids()) {
    EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid;
  }
}

TEST_F(Study, LetsOneProcessAtATimeCarryItOut) {
  auto process = launch::ChildProcess::start(study({"--batch", "32"}, {"FAKE_WORKER_STEP_MS=50"}));
  ASSERT_TRUE(eventually([&] { return runs().size() == 1; }));
  const auto second = run(study({"--batch", "32"}));
  EXPECT_EQ(second.status.code, 2);
  EXPECT_TRUE(has(second.errors, "another process is running study s")) << second.errors;
}

}  // namespace
}  // namespace lockstep
