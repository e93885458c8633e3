#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/launch/cluster/slurm_job.h"
#include "lockstep/study/executor.h"
#include "lockstep/study/slurm/slurm_jobs.h"

namespace lockstep::study {

/// Runs as batch jobs of Slurm, one per run. All are submitted at once, so that they wait in the
/// queue together, and collected in the order of the plan. Scripts, job ids and output are in a
/// folder beside the store: when the process of a study is lost, the next one finds its jobs there
/// and continues to watch them. A study that is interrupted cancels them, unless only its terminal
/// was closed.
class SlurmExecutor final : public Executor {
 public:
  /// Throws kEnvironment without Slurm.
  SlurmExecutor(std::unique_ptr<SlurmJobs> jobs, ExecutorContext context);

  std::string title() const override { return jobs_->title(); }
  RunLength length() const override { return jobs_->length(); }
  bool resembles(const store::RunSummary& run) const override { return jobs_->resembles(run); }
  std::string preview(const PlannedRun& planned, const std::string& study) const override;
  void prepare(const std::vector<PlannedRun>& due, const std::string& study) override;
  void stop() override;
  ExecutedRun run(const PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  launch::JobFiles files_of(const PlannedRun& planned, const std::string& study) const;
  launch::JobTicket submit(const PlannedRun& planned, const launch::JobFiles& files);
  [[noreturn]] void give_up(const launch::JobTicket& ticket, const std::string& reason);

  std::unique_ptr<SlurmJobs> jobs_;
  ExecutorContext context_;
  launch::SlurmQueue queue_;
  std::map<std::string, launch::JobFiles> submitted_;  ///< by stem, not yet collected
};

}  // namespace lockstep::study
