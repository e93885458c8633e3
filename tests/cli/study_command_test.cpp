#include "study_fixture.h"

namespace lockstep {
namespace {

class StudyOfACommand : public Study {
 protected:
  /// A foreign program: prints two epochs the way PyTorch scripts do.
  launch::ProcessSpec foreign(std::vector<std::string> options, const std::string& script) const {
    options.insert(options.begin(),
                   {"study", "--name", "s", "--workers", "1,2", "--batch", "32,64"});
    options.insert(options.end(), {"--", "sh", "-c", script, "sh", "{workers}", "{batch}"});
    return command(options);
  }

  static constexpr const char* kLog =
      "for e in 1 2; do echo \"Epoch $e: loss 0.$e, time $(( 64 / $1 / ($2 / 32) )) s\"; done";
};

TEST_F(StudyOfACommand, ReadsItsOutputKeepsItAndReports) {
  const auto captured = run(foreign(
      {"--pattern", R"(Epoch (?<epoch>\d+): loss (?<loss>\S+), time (?<epoch_time>\S+) s)"}, kLog));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  ASSERT_EQ(runs(store::RunState::kDone).size(), 4u) << captured.output;
  for (const auto& run : runs()) {
    EXPECT_TRUE(run.spec.workers == 1 || run.spec.workers == 2);
    EXPECT_EQ(run.epochs_done, 2);
  }
  EXPECT_TRUE(has(captured.output, "Verdict")) << captured.output;
  EXPECT_TRUE(has(captured.output, "64.00")) << captured.output;
  std::size_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store().string() + "-output/s")) {
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    kept += line.starts_with("Epoch 1: loss 0.1");
  }
  EXPECT_EQ(kept, 4u);
}

TEST_F(StudyOfACommand, GivesItTheThreadsOfEachRun) {
  const auto captured = run(command(
      {"study", "--threads", "1,3", "--name", "s", "--workers", "1", "--", "/bin/sh", "-c",
       "echo \"threads {threads} $OMP_NUM_THREADS\"; echo 'Epoch 1/1: loss 0.5, time 1.5 s'"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  std::set<int> seen;
  for (const auto& run : runs(store::RunState::kDone)) seen.insert(run.spec.threads_per_worker);
  EXPECT_EQ(seen, (std::set<int>{1, 3}));
  const auto none = run(command({"study", "--workers", "1", "--", "/bin/echo", "{threads}"}));
  EXPECT_EQ(none.status.code, 2);
  EXPECT_TRUE(has(none.errors, "add --threads N")) << none.errors;
}

TEST_F(StudyOfACommand, RunsNothingTwiceEvenWhereOutputsAreEqual) {
  const std::vector<std::string> options{"--repeat", "2", "--pattern",
                                         R"(loss (?<loss>[0-9.]+), time (?<epoch_time>\S+) s)"};
  ASSERT_EQ(run(foreign(options, kLog)).status.code, 0);
  EXPECT_EQ(runs(store::RunState::kDone).size(), 8u);
  ASSERT_EQ(run(foreign(options, kLog)).status.code, 0);
  EXPECT_EQ(runs().size(), 8u);
}

TEST_F(StudyOfACommand, ComparesWholeRunsWhereTheOutputHasNoFigures) {
  const auto captured = run(foreign({}, "echo all went well"));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_TRUE(has(captured.errors, "no figures were recognised")) << captured.errors;
  EXPECT_TRUE(has(captured.errors, "--pattern")) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 4u);
  EXPECT_TRUE(has(captured.output, "Time and speedup")) << captured.output;
  EXPECT_TRUE(has(captured.output, "total time")) << captured.output;
}

TEST_F(StudyOfACommand, TakesTheConfigurationFromThePlanAndTheNameFromTheScript) {
  const std::filesystem::path script = folder_ / "train.sh";
  std::ofstream(script) << "#!/bin/sh\n"
                           "echo \"world size: $1, batch size: $2\"\n"
                           "for e in 1 2 3; do\n"
                           "  echo \"Epoch $e/3: loss 0.$((9-e))1, time $((12/$1)).0$e s\"\n"
                           "done\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto captured = run(command({"study", "--workers", "1,2", "--batch", "64", "--device",
                                     "cpu", "--", script.string(), "{workers}", "{batch}"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  const auto kept = store::Store(store().string()).runs({});
  ASSERT_EQ(kept.size(), 2u);
  for (const auto& run : kept) {
    EXPECT_EQ(run.spec.recipe, "train");
    EXPECT_EQ(run.spec.batch_per_worker, 64);
    EXPECT_EQ(run.spec.device, "cpu");
    EXPECT_EQ(run.epochs_done, 3);
  }
  EXPECT_NE(kept[0].spec.workers, kept[1].spec.workers);
  // Epochs 2 and 3 of (12.02, 12.03) and (6.02, 6.03): the first is the warm-up.
  EXPECT_TRUE(has(captured.output, "2.00")) << captured.output;
  EXPECT_TRUE(has(captured.output, "Verdict")) << captured.output;
}

TEST_F(StudyOfACommand, RecordsAFailureAndContinues) {
  const auto captured =
      run(foreign({"--pattern", R"(time (?<epoch_time>\S+) s)"},
                  std::string("[ $1 = 2 ] && { echo no such device; exit 3; }; ") + kLog));
  EXPECT_EQ(captured.status.code, 5) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 2u);
  EXPECT_EQ(runs(store::RunState::kFailed).size(), 2u);
  EXPECT_TRUE(has(captured.output, "ended with exit code 3; its last line: no such device"))
      << captured.output;
}

TEST_F(StudyOfACommand, GivesUpWhenEveryRunFailsInTheSameWay) {
  const auto captured = run(foreign({}, "echo No module named torch; exit 1"));
  EXPECT_EQ(captured.status.code, 5) << captured.errors;
  EXPECT_EQ(runs().size(), 3u);
  EXPECT_TRUE(has(captured.errors, "the first 3 runs failed in the same way, and 1 more was not"))
      << captured.errors;
  const auto mended = run(foreign({"--retry-failed"}, "echo No module named torch; exit 1"));
  EXPECT_EQ(mended.status.code, 5) << mended.errors;
}

TEST_F(StudyOfACommand, TakesItsDurationWhereItPrintsNothing) {
  const auto captured = run(foreign({"--wall-time"}, "true"));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 4u);
  EXPECT_TRUE(has(captured.output, "total time")) << captured.output;
}

TEST_F(StudyOfACommand, CallsOutOfMemoryAResult) {
  const auto captured = run(foreign(
      {"--pattern", R"(time (?<epoch_time>\S+) s)"},
      std::string("[ $2 = 64 ] && { echo RuntimeError: CUDA out of memory.; exit 1; }; ") + kLog));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 2u);
  ASSERT_EQ(runs(store::RunState::kFailed).size(), 2u);
  EXPECT_TRUE(store::ran_out_of_memory(runs(store::RunState::kFailed).front()));
  EXPECT_TRUE(has(captured.output, "b = 64 ran out of memory")) << captured.output;
}

TEST_F(StudyOfACommand, EndsARunAtItsTimeLimit) {
  const auto captured = run(foreign({"--time-limit", "0.1s"}, "sleep 600"));
  EXPECT_EQ(captured.status.code, 5) << captured.errors;
  EXPECT_TRUE(has(captured.output, "--time-limit")) << captured.output;
}

TEST_F(StudyOfACommand, RefusesACommandThatIgnoresWhatIsVaried) {
  const auto captured = run(command({"study", "--workers", "1,2", "--", "true"}));
  EXPECT_EQ(captured.status.code, 2);
  EXPECT_TRUE(has(captured.errors, "write {workers}")) << captured.errors;
}

class StudyPlan : public Study {
 protected:
  launch::ProcessSpec plan(const std::string& text, std::vector<std::string> options = {}) const {
    const std::string path = (folder_ / "plan.toml").string();
    std::ofstream(path) << text;
    options.insert(options.begin(), {"study", path});
    return command(options);
  }
};

TEST_F(StudyPlan, RunsSeveralSweepsOfOneFile) {
  const std::string text = R"(
name = "s"
workers = [1, 2]
threads = 1
oversubscribe = true
repeat = 2
[[sweep]]
recipe = "fashion"
batch = [32, 64]
[[sweep]]
batch = 32
command = ["sh", "-c", "echo epoch 1: loss 0.5, 3 s", "{workers}"]
pattern = 'loss (?<loss>[0-9.]+), (?<epoch_time>\S+) s'
)";
  const auto shown = run(plan(text, {"--dry-run"}));
  EXPECT_EQ(shown.status.code, 0) << shown.errors;
  EXPECT_TRUE(has(shown.output, "study s: 12 runs, 0 done")) << shown.output;
  const auto captured = run(plan(text));
  EXPECT_EQ(captured.status.code, 0) << captured.errors << captured.output;
  EXPECT_EQ(runs(store::RunState::kDone).size(), 12u);
  // Round 1 of both sweeps comes before round 2 of either.
  int last = 1;
  for (const auto& run : runs()) {
    EXPECT_GE(run.label.repeat, last);
    last = run.label.repeat;
  }
}

TEST_F(StudyPlan, NamesTheLineOfWhatItDoesNotUnderstand) {
  for (const auto& [text, sentence] : std::initializer_list<std::pair<std::string, std::string>>{
           {"workers = [1,", "plan.toml:1"},
           {"workers = 1\nbatches = 2\n", "unknown option --batches"},
           {"workers = [1, {}]\n", "plan.toml:1"},
           {"workers = 'x'\n", "is not a list of numbers"}}) {
    const auto captured = run(plan(text, {"--dry-run"}));
    EXPECT_TRUE(captured.status.code == 2 || captured.status.code == 4) << captured.errors;
    EXPECT_TRUE(has(captured.errors, sentence)) << captured.errors;
    EXPECT_TRUE(has(captured.errors, "plan.toml")) << captured.errors;
  }
}

}  // namespace
}  // namespace lockstep
