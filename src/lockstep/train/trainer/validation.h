#pragma once

#include <cstdint>
#include <memory>

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
  ValidationResult run(Task& task);

 private:
  Device& device_;
  InputFeed feed_;
  comm::Communicator& communicator_;
};

}  // namespace lockstep::train
