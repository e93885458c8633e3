#pragma once

#include <memory>
#include <string>

#include "lockstep/launch/cluster/slurm_job.h"
#include "lockstep/study/executor.h"

namespace lockstep::study {

/// One batch job while it is watched.
class WatchedJob {
 public:
  virtual ~WatchedJob() = default;
  /// Shows the latest of its figures on the status line; false when it has none yet.
  virtual bool show() = 0;
  /// Puts the run of a job that is over into the store.
  virtual ExecutedRun collect(const launch::JobState& state) = 0;
};

/// What a study submits to Slurm: the script of each run, and how its result is read.
class SlurmJobs {
 public:
  virtual ~SlurmJobs() = default;
  virtual std::string title() const = 0;
  virtual RunLength length() const = 0;
  /// As Executor::resembles().
  virtual bool resembles(const store::RunSummary& run) const = 0;
  virtual std::string script(const PlannedRun& planned, const launch::JobFiles& files) const = 0;
  /// Makes what the script needs besides itself; called before it is submitted.
  virtual void lay_out(const launch::JobFiles& files) const {}
  /// `progress` precedes what the status line shows.
  virtual std::unique_ptr<WatchedJob> watch(const PlannedRun& planned, const store::RunLabel& label,
                                            const launch::JobFiles& files,
                                            const std::string& progress) const = 0;
};

}  // namespace lockstep::study
