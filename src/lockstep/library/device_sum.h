#pragma once

#include <torch/torch.h>

#include <span>

#include "lockstep/comm/communicator.h"

namespace lockstep::library {

/// Sums of tensors over ranks without a way through the host, for a communicator whose memory is on
/// GPUs (NCCL).
class DeviceSum {
 public:
  explicit DeviceSum(comm::Communicator& communicator) : communicator_(communicator) {}

  /// Whether sum() takes the tensor: dense floats on a GPU, where the communicator sums too.
  bool takes(const torch::Tensor& tensor) const;
  /// Replaces the tensors by their sums over ranks, by way of a buffer of 4 MB. Collective; returns
  /// when the sums are done, not the copies from the buffer.
  void sum(std::span<const torch::Tensor> tensors);

 private:
  comm::Communicator& communicator_;
  std::span<float> buffer_;  ///< made at the first sum
};

}  // namespace lockstep::library
