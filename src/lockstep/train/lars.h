#pragma once

#include <memory>

#include "lockstep/train/optimizer.h"

namespace lockstep::train {

/// LARS (You, Gitman and Ginsburg 2017): SGD with momentum whose rate is scaled for each tensor by
/// trust * |p| / (|g| + weight_decay * |p|), so that no layer moves by a larger share of itself
/// than another. Tensors that are not adapted take a plain momentum step without decay, at the rate
/// times `trust`: the rates of LARS are made for the scaled ones.
std::unique_ptr<Optimizer> make_lars(const OptimizerOptions& options,
                                     std::vector<TensorRange> tensors, std::size_t count);

}  // namespace lockstep::train
