#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "lockstep/comm/wire/bucket_plan.h"

namespace lockstep::train {

/// Moves all trainable parameters of a network into one flat tensor on their device, so that an
/// optimizer step is one pass over memory and a broadcast is one call. The network's own tensors
/// become views of it and keep their shapes and strides.
class FlatParameters {
 public:
  /// `parameters` must be dense floats on one device; the plan comes from their sizes.
  /// `memory` of that length is used if it is not empty; where ranks have it in common, only one of
  /// them `fills` it with its parameters.
  FlatParameters(std::vector<torch::Tensor> parameters, const comm::BucketPlan& plan,
                 std::span<float> memory = {}, bool fills = true);

  /// On the device of the network.
  const torch::Tensor& flat() const { return flat_; }
  /// On the host: flat() itself on a CPU, otherwise a copy that to_host() and to_device() keep up
  /// to date.
  std::span<float> values();

  /// Copies values() to the network. Does nothing on a CPU.
  void to_device();
  /// Copies the parameters of the network to values(). Does nothing on a CPU.
  void to_host();

 private:
  std::vector<torch::Tensor> parameters_;
  torch::Tensor flat_;
  torch::Tensor on_host_;  ///< flat_ itself on a CPU; made when it is first wanted on a GPU
};

/// The parameters of the module that are trained, in order of registration.
std::vector<torch::Tensor> trainable_parameters(const torch::nn::Module& module);

/// Their element counts.
std::vector<std::int64_t> element_counts(std::span<const torch::Tensor> tensors);

/// The device they are all on; the CPU if there are none.
torch::Device common_device(std::span<const torch::Tensor> tensors);

}  // namespace lockstep::train
