#include <algorithm>

#include "lockstep/store/store.h"
#include "parallel_run.h"

namespace lockstep {
namespace {

class RealAutoWorkers : public ParallelRun {
 protected:
  launch::CapturedOutput train_with(const std::string& workers, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--store", folder("runs.db"), "--json", "train", "fashion", "--data", "synthetic",
                 "--workers", workers, "--global-batch", "64", "--steps", "20", "--no-validation"});
    launch::ProcessSpec spec;
    spec.program = LOCKSTEP_PROGRAM;
    spec.arguments = more;
    spec.environment = {"TMPDIR=" + folder("tmp")};
    spec.separate_errors = true;
    return run_to_success(spec);
  }
};

TEST_F(RealAutoWorkers, TrainAsIfTheChosenNumberHadBeenGiven) {
  const auto chosen = train_with("auto", {});
  const auto started = events<record::RunStarted>(chosen.output);
  ASSERT_EQ(started.size(), 1u) << chosen.output << chosen.errors;
  const record::RunSpec& spec = started[0].spec;
  EXPECT_EQ(spec.global_batch(), 64);
  EXPECT_EQ(spec.max_steps, 20);
  if (!spec.worker_trials.empty()) {
    EXPECT_NE(chosen.errors.find("chosen: "), std::string::npos) << chosen.errors;
    const auto is_chosen = [&](const record::WorkerTrial& trial) {
      return trial.workers == spec.workers && trial.threads_per_worker == spec.threads_per_worker;
    };
    EXPECT_EQ(std::count_if(spec.worker_trials.begin(), spec.worker_trials.end(), is_chosen), 1);
    for (const record::WorkerTrial& trial : spec.worker_trials) EXPECT_GT(trial.examples_per_s, 0);
  }
  EXPECT_EQ(store::Store(folder("runs.db")).runs().size(), 1u);

  const auto given = train_with(std::to_string(spec.workers),
                                {"--threads", std::to_string(spec.threads_per_worker)});
  EXPECT_EQ(digest_of(given), digest_of(chosen));
}

}  // namespace
}  // namespace lockstep
