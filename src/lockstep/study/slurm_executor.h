#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/launch/launchers.h"
#include "lockstep/launch/slurm_job.h"
#include "lockstep/record/train_request.h"
#include "lockstep/study/executor.h"

namespace lockstep::study {

/// Runs of Lockstep's own trainer as batch jobs of Slurm, one per run. All are submitted at once,
/// so that they wait in the queue together, and collected in the order of the plan. Scripts, job
/// ids and records lie in a folder beside the store: a study whose process was lost finds its jobs
/// there and goes on watching them. A study that is interrupted cancels them, unless only its
/// terminal is gone.
class SlurmExecutor final : public Executor {
 public:
  /// Throws kEnvironment without Slurm or a worker program.
  SlurmExecutor(record::TrainRequest request, launch::ClusterOptions cluster,
                ExecutorContext context);

  std::string title() const override { return request_.spec.recipe; }
  RunLength length() const override;
  bool resembles(const store::RunSummary& run) const override;
  std::string preview(const PlannedRun& planned, const std::string& study) const override;
  void prepare(const std::vector<PlannedRun>& due, const std::string& study) override;
  void stop() override;
  ExecutedRun run(const PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  launch::JobFiles files_of(const PlannedRun& planned, const std::string& study) const;
  std::string script_of(const PlannedRun& planned, const launch::JobFiles& files) const;
  launch::JobTicket submit(const PlannedRun& planned, const launch::JobFiles& files);
  [[noreturn]] void give_up(const launch::JobTicket& ticket, const std::string& reason);
  ExecutedRun collect(const launch::JobFiles& files, const launch::JobState& state,
                      const store::RunLabel& label, const record::TrainRequest& request);

  record::TrainRequest request_;
  launch::ClusterOptions cluster_;
  ExecutorContext context_;
  launch::SlurmQueue queue_;
  std::map<std::string, launch::JobFiles> submitted_;  ///< by stem, not yet collected
};

}  // namespace lockstep::study
