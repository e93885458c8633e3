#include <csignal>

#include "cli_test.h"
#include "lockstep/launch/core_splits.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/store/store.h"

namespace lockstep {
namespace {

/// `lockstep train --workers auto` with the fake worker, whose rate is the same for any number of
/// workers.
class AutoWorkers : public CliTest {
 protected:
  launch::ProcessSpec train(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment = {}) const {
    arguments.insert(arguments.begin(), {"train", "fashion", "--workers", "auto"});
    return command(arguments, environment);
  }

  record::RunSpec only_spec() const {
    store::Store runs(store().string());
    const auto list = runs.runs();
    EXPECT_EQ(list.size(), 1u) << "the runs that only measure are not stored";
    return runs.load(list.at(0).id).started.spec;
  }

  void expect_refusal(const launch::ProcessSpec& spec, const std::string& reason) const {
    const auto captured = run(spec);
    EXPECT_EQ(captured.status.code, 2) << captured.errors;
    EXPECT_NE(captured.errors.find(reason), std::string::npos) << captured.errors;
    EXPECT_TRUE(worker_pids().empty()) << reason;
  }

  const int cores_ = static_cast<int>(measure::usable_cores().size());
  const std::size_t splits_ = launch::core_splits(cores_, 0).size();
};

TEST_F(AutoWorkers, TakesTheFewestOfEquallyFastOnesAndRecordsTheTrials) {
  const auto captured = run(train({"--epochs", "2"}));
  ASSERT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_NE(captured.errors.find("1 worker x 1 thread"), std::string::npos) << captured.errors;
  EXPECT_NE(captured.output.find("1 worker x 1 thread, b = 128, B = 128"), std::string::npos)
      << captured.output;
  const record::RunSpec spec = only_spec();
  EXPECT_EQ(spec.workers, 1);
  EXPECT_EQ(spec.threads_per_worker, 1);
  EXPECT_EQ(spec.epochs, 2);
  EXPECT_EQ(spec.worker_trials.size(), splits_ > 1 ? splits_ : 0);
  for (const record::WorkerTrial& trial : spec.worker_trials) {
    EXPECT_NEAR(trial.examples_per_s, 1000, 1e-6);
  }
  const auto shown = run(command({"runs", "show", "1"}));
  EXPECT_EQ(shown.output.find("workers x threads measured  1 x 1: 1,000") != std::string::npos,
            splits_ > 1)
      << shown.output;
  for (const int pid : worker_pids()) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST_F(AutoWorkers, KeepsTheGlobalBatchAndDropsWhatDoesNotFitIntoMemory) {
  const auto captured =
      run(train({"--threads", "1", "--global-batch", "64"}, {"FAKE_WORKER_FITS=32"}));
  if (cores_ < 2) {
    EXPECT_NE(captured.errors.find("out of memory"), std::string::npos) << captured.errors;
    return;
  }
  ASSERT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_NE(captured.errors.find("measuring 1 worker x 1 thread: out of memory"), std::string::npos)
      << captured.errors;
  const record::RunSpec spec = only_spec();
  EXPECT_EQ(spec.workers, 2);
  EXPECT_EQ(spec.batch_per_worker, 32);
  ASSERT_GE(spec.worker_trials.size(), 2u);
  EXPECT_EQ(spec.worker_trials[0].examples_per_s, 0);
}

TEST_F(AutoWorkers, EndsWithTheReasonWhereNothingFitsIntoMemory) {
  const auto captured = run(train({"--batch", "64"}, {"FAKE_WORKER_FITS=32"}));
  EXPECT_NE(captured.status.code, 0);
  EXPECT_NE(captured.errors.find("failed: out of memory"), std::string::npos) << captured.errors;
}

TEST_F(AutoWorkers, EndsAtTheFirstTrialThatFails) {
  if (cores_ < 2) return;
  const auto captured = run(train({}, {"FAKE_WORKER_EARLY=data"}));
  EXPECT_EQ(captured.status.code, 4) << captured.errors;
  EXPECT_NE(captured.errors.find("images.gz: truncated"), std::string::npos) << captured.errors;
  EXPECT_EQ(worker_pids().size(), 1u);
}

TEST_F(AutoWorkers, InterruptedWhileMeasuringLeavesNothingBehind) {
  if (cores_ < 2) return;
  launch::ChildProcess process =
      launch::ChildProcess::start(train({}, {"FAKE_WORKER_STEP_MS=200"}));
  ASSERT_TRUE(eventually([&] { return !worker_pids().empty(); }));
  ::kill(process.pid(), SIGINT);
  std::optional<launch::ExitStatus> status;
  ASSERT_TRUE(eventually([&] {
    status = process.poll();
    return status.has_value();
  }));
  EXPECT_EQ(status->code, 130);
  for (const int pid : worker_pids()) EXPECT_FALSE(is_alive(pid)) << pid;
  EXPECT_FALSE(std::filesystem::exists(store()));
  EXPECT_TRUE(std::filesystem::is_empty(temporary()));
}

TEST_F(AutoWorkers, IsRefusedWhereItCannotMeasure) {
  expect_refusal(train({"--launcher", "mpi"}), "--workers auto measures on this machine only");
  expect_refusal(train({"--dry-run"}), "--dry-run cannot be combined with --workers auto");
  expect_refusal(train({}, {"OMPI_COMM_WORLD_SIZE=4"}), "one of 4 tasks of mpirun");
  expect_refusal(train({}, {"SLURM_STEP_NUM_TASKS=2"}), "one of 2 tasks of srun");
  expect_refusal(train({"--batch", "8", "--global-batch", "64"}),
                 "--batch and --global-batch cannot be combined");
  expect_refusal(train({"--accumulate", "3", "--global-batch", "64"}), "with 3 micro-batches each");
}

TEST_F(AutoWorkers, IsOneWorkerPerGpuWithoutMeasuring) {
  const auto captured = run(train({"--device", "cuda", "--threads", "1", "--oversubscribe"},
                                  {"CUDA_VISIBLE_DEVICES=0,1"}));
  ASSERT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_NE(captured.errors.find("2 workers x 1 thread: one per visible GPU, without measuring"),
            std::string::npos)
      << captured.errors;
  EXPECT_EQ(worker_pids().size(), 2u);
  EXPECT_EQ(only_spec().workers, 2);
  EXPECT_TRUE(only_spec().worker_trials.empty());
}

TEST_F(AutoWorkers, AGlobalBatchIsSharedByAnyNumberOfWorkers) {
  const std::vector<std::string> base{"train", "fashion", "--threads", "1", "--oversubscribe"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return command(more);
  };
  expect_refusal(with({"-n", "3", "--global-batch", "64"}),
                 "a global batch of 64 cannot be divided equally among 3 workers");
  ASSERT_EQ(run(with({"-n", "2", "--accumulate", "2", "--global-batch", "64"})).status.code, 0);
  EXPECT_EQ(only_spec().batch_per_worker, 16);
}

}  // namespace
}  // namespace lockstep
