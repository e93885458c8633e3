#pragma once

#include <torch/torch.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/comm/wire/bucket_plan.h"
#include "lockstep/train/checkpoint/checkpoint.h"
#include "lockstep/train/optim/optimizer.h"

namespace lockstep::train {

/// Where each trained parameter lies in flat buffers of that plan.
std::vector<TensorRange> tensor_ranges(std::span<const torch::Tensor> parameters,
                                       const comm::BucketPlan& plan);

/// Ranges of the flat buffer whose parameters move at the same fraction of the learning rate, which
/// `rate_of` gives by the name of a parameter.
std::vector<RateGroup> rate_groups(const torch::nn::Module& network, const comm::BucketPlan& plan,
                                   const std::function<double(const std::string&)>& rate_of);

/// Parameters and buffers under the network's names; they share its memory.
std::vector<NamedTensor> model_tensors(const torch::nn::Module& network);

/// The optimizer's state as "velocity/NAME", shaped like the parameters; shares its memory.
std::vector<NamedTensor> optimizer_tensors(const Optimizer& optimizer,
                                           const torch::nn::Module& network,
                                           const comm::BucketPlan& plan);

}  // namespace lockstep::train
