#pragma once

#include "lockstep/study/command/command_record.h"
#include "lockstep/study/slurm/slurm_jobs.h"

namespace lockstep::study {

/// Jobs that run a foreign command, whose output is the log of the job.
class SlurmCommand final : public SlurmJobs {
 public:
  /// `context` is copied. Throws kUsage for an invalid pattern and for a setup file that cannot be
  /// read.
  SlurmCommand(ForeignCommand command, launch::ClusterOptions cluster,
               const ExecutorContext& context);

  std::string title() const override;
  RunLength length() const override { return {command_.values.epochs, 0}; }
  bool resembles(const store::RunSummary& run) const override;
  std::string script(const PlannedRun& planned, const launch::JobFiles& files) const override;
  void lay_out(const launch::JobFiles& files) const override;
  std::unique_ptr<WatchedJob> watch(const PlannedRun& planned, const store::RunLabel& label,
                                    const launch::JobFiles& files,
                                    const std::string& progress) const override;

 private:
  ForeignCommand command_;
  launch::ClusterOptions cluster_;
  ExecutorContext context_;
};

/// Whether the command starts the workers of a host itself, as torchrun does, so that Slurm is to
/// start it once per host.
bool starts_workers_itself(const std::vector<std::string>& command);

}  // namespace lockstep::study
