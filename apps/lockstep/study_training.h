#pragma once

#include <optional>

#include "console.h"
#include "lockstep/base/clock.h"
#include "lockstep/record/machine.h"
#include "lockstep/record/train_request.h"
#include "study_executor.h"
#include "study_launcher.h"

namespace lockstep::cli {

/// Runs of Lockstep's own trainer. Repeat r trains with the seed of the request
/// plus r - 1.
class StudyTraining final : public StudyExecutor {
 public:
  /// What the runs have in common is in `request`. The references outlive this object. Throws
  /// kEnvironment when there is no worker program.
  StudyTraining(record::TrainRequest request, TrainingLauncher launcher, std::string store_path,
                Console& console, const Clock& clock);

  std::string title() const override { return request_.spec.recipe; }
  study::RunLength length() const override;
  bool resembles(const store::RunSummary& run) const override;
  ExecutedRun run(const study::PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  record::TrainRequest request_;
  TrainingLauncher launcher_;
  std::string store_path_;
  Console& console_;
  const Clock& clock_;
  std::optional<record::Machine> machine_;  ///< described when first needed
};

/// `common` with the configuration of one planned run.
record::TrainRequest request_of(const record::TrainRequest& common,
                                const study::PlannedRun& planned);

}  // namespace lockstep::cli
