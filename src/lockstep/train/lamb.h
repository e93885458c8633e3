#pragma once

#include <memory>

#include "lockstep/train/optimizer.h"

namespace lockstep::train {

/// LAMB (You et al. 2020): Adam's direction plus decoupled decay, u, taken at the rate times
/// |p| / |u| for each tensor. Tensors that are not adapted take Adam's step without decay.
std::unique_ptr<Optimizer> make_lamb(const OptimizerOptions& options,
                                     std::vector<TensorRange> tensors, std::size_t count);

}  // namespace lockstep::train
