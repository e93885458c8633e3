#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "lockstep/comm/bucket_plan.h"

namespace lockstep::train {

/// All trainable parameters of a network moved into one flat buffer, so that the optimizer is one
/// pass over memory and a broadcast is one call. The network's own tensors become views of it and
/// keep their shapes and strides. On a GPU they are views of a copy there.
class FlatParameters {
 public:
  /// `parameters` must be dense floats on one device; the plan comes from their sizes.
  FlatParameters(std::vector<torch::Tensor> parameters, const comm::BucketPlan& plan);

  const std::vector<torch::Tensor>& tensors() const { return parameters_; }
  /// On the host.
  std::span<float> values() {
    return {flat_.data_ptr<float>(), static_cast<std::size_t>(flat_.numel())};
  }

  /// What has become of values() reaches the network; without a GPU it already has.
  void publish();
  /// The other way: after the network's tensors were written to from outside.
  void fetch();

 private:
  std::vector<torch::Tensor> parameters_;
  torch::Tensor flat_;
  torch::Tensor on_device_;  ///< flat_ itself on a CPU
};

/// Those of the module that are trained, in order of registration.
std::vector<torch::Tensor> trainable_parameters(const torch::nn::Module& module);

/// Their element counts.
std::vector<std::int64_t> element_counts(std::span<const torch::Tensor> tensors);

}  // namespace lockstep::train
