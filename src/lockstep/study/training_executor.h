#pragma once

#include <optional>

#include "lockstep/record/machine.h"
#include "lockstep/record/train_request.h"
#include "lockstep/study/executor.h"

namespace lockstep::study {

/// Runs of Lockstep's own trainer on this machine. Repeat r trains with the seed of the request
/// plus r - 1.
class TrainingExecutor final : public Executor {
 public:
  /// What the runs have in common is in `request`. Throws kEnvironment when there is no worker
  /// program.
  TrainingExecutor(record::TrainRequest request, ExecutorContext context);

  std::string title() const override { return request_.spec.recipe; }
  RunLength length() const override;
  bool resembles(const store::RunSummary& run) const override;
  ExecutedRun run(const PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  record::TrainRequest request_;
  ExecutorContext context_;
  std::optional<record::Machine> machine_;  ///< described when first needed
};

/// `common` with the configuration of one planned run.
record::TrainRequest request_of(const record::TrainRequest& common, const PlannedRun& planned);

}  // namespace lockstep::study
