#pragma once

#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <utility>

namespace lockstep::train {

// What differs between the LibTorch versions that Lockstep builds against (1.13 to 2.x).

/// What keeps a parameter's gradient accumulator alive: a std::shared_ptr in 1.13, a pointer type
/// of LibTorch's own in recent versions.
using GradientAccumulator =
    decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::Tensor&>()));

}  // namespace lockstep::train
