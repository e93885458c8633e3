#pragma once

#include <cstdint>
#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/data/loader.h"
#include "lockstep/nets/network.h"
#include "lockstep/train/device.h"

namespace lockstep::train {

struct ValidationResult {
  double loss = 0;      ///< mean over all validation examples
  double accuracy = 0;  ///< share of right answers
};

/// Evaluates a network on the validation set, each rank on its part.
class Validation {
 public:
  Validation(std::shared_ptr<const data::Dataset> dataset,
             std::shared_ptr<const data::Transform> transform, std::int64_t batch,
             int loader_threads, comm::Communicator& communicator);

  /// Collective; blocks. Leaves the network in training mode.
  ValidationResult run(nets::Network& network, Device& device);

 private:
  std::shared_ptr<const data::Transform> transform_;
  data::Loader loader_;
  comm::Communicator& communicator_;
};

}  // namespace lockstep::train
