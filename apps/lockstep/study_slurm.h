#pragma once

#include <map>
#include <string>
#include <vector>

#include "console.h"
#include "launchers.h"
#include "lockstep/base/clock.h"
#include "lockstep/launch/signal_inbox.h"
#include "lockstep/launch/slurm_job.h"
#include "lockstep/record/train_request.h"
#include "store_sink.h"
#include "study_executor.h"

namespace lockstep::cli {

/// Runs of Lockstep's own trainer as batch jobs of Slurm, one a run. All are submitted at once, so
/// that they wait in the queue together, and collected in the order of the plan. Scripts, job ids
/// and records lie in a folder beside the store: a study whose process was lost finds its jobs
/// there and goes on watching them. A study that is interrupted cancels them, unless only its
/// terminal is gone.
class StudySlurm final : public StudyExecutor {
 public:
  /// The references outlive this object. Throws kEnvironment without Slurm or a worker program.
  StudySlurm(record::TrainRequest request, launch::ClusterOptions cluster, std::string store_path,
             Console& console, launch::SignalInbox& signals, const Clock& clock);

  std::string title() const override { return request_.spec.recipe; }
  study::RunLength length() const override;
  bool resembles(const store::RunSummary& run) const override;
  std::string preview(const study::PlannedRun& planned, const std::string& study) const override;
  void prepare(const std::vector<study::PlannedRun>& due, const std::string& study) override;
  void stop() override;
  ExecutedRun run(const study::PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  launch::JobFiles files_of(const study::PlannedRun& planned, const std::string& study) const;
  std::string script_of(const study::PlannedRun& planned, const launch::JobFiles& files) const;
  launch::JobTicket submit(const study::PlannedRun& planned, const launch::JobFiles& files);
  [[noreturn]] void give_up(const launch::JobTicket& ticket, const std::string& reason);
  ExecutedRun collect(const launch::JobFiles& files, const launch::JobState& state,
                      const store::RunLabel& label, const record::TrainRequest& request);

  record::TrainRequest request_;
  launch::ClusterOptions cluster_;
  std::string store_path_;
  Console& console_;
  launch::SignalInbox& signals_;
  const Clock& clock_;
  launch::SlurmQueue queue_;
  std::map<std::string, launch::JobFiles> submitted_;  ///< by stem, not yet collected
};

}  // namespace lockstep::cli
