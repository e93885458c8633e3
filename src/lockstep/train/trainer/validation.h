#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "lockstep/comm/communicator.h"
#include "lockstep/train/recipes/task.h"
#include "lockstep/train/sync/device.h"
#include "lockstep/train/trainer/input_feed.h"

namespace lockstep::train {

struct ValidationResult {
  double loss = 0;      ///< mean over all validation examples
  double accuracy = 0;  ///< share of right answers; NaN where the task has none
};

/// Evaluates a task on the validation set, each rank on its part.
class Validation {
 public:
  /// The device must outlive it.
  Validation(std::shared_ptr<const data::Dataset> dataset,
             std::shared_ptr<const data::Transform> transform, std::int64_t batch,
             int loader_threads, comm::Communicator& communicator, const Clock& clock,
             Device& device);

  /// Collective; blocks. In the precision of training. Leaves the networks in training mode.
  /// Nothing when a rank was asked to stop before all were done. Rank 0 logs how far it is every 10
  /// s.
  std::optional<ValidationResult> run(Task& task, const std::atomic<bool>& stop);

 private:
  bool evaluate_all(Task& task, const std::atomic<bool>& stop, EvaluationSums& sums);

  Device& device_;
  InputFeed feed_;
  comm::Communicator& communicator_;
  const Clock& clock_;
};

}  // namespace lockstep::train
