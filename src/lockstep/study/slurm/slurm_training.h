#pragma once

#include "lockstep/record/train_request.h"
#include "lockstep/study/slurm/slurm_jobs.h"

namespace lockstep::study {

/// Jobs of Lockstep's own trainer, whose rank 0 writes the record of the run into a file.
class SlurmTraining final : public SlurmJobs {
 public:
  /// `context` is copied. Throws kEnvironment without a worker program.
  SlurmTraining(record::TrainRequest request, launch::ClusterOptions cluster,
                const ExecutorContext& context);

  std::string title() const override { return request_.spec.recipe; }
  RunLength length() const override;
  bool resembles(const store::RunSummary& run) const override;
  std::string script(const PlannedRun& planned, const launch::JobFiles& files) const override;
  std::unique_ptr<WatchedJob> watch(const PlannedRun& planned, const store::RunLabel& label,
                                    const launch::JobFiles& files,
                                    const std::string& progress) const override;

 private:
  record::TrainRequest request_;
  launch::ClusterOptions cluster_;
  ExecutorContext context_;
};

}  // namespace lockstep::study
