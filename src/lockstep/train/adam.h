#pragma once

#include <memory>

#include "lockstep/train/optimizer.h"

namespace lockstep::train {

/// Adam (Kingma and Ba 2015) as torch::optim::Adam defines it; weight decay is added to the
/// gradient.
std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options, std::size_t count);

/// AdamW (Loshchilov and Hutter 2019) as torch::optim::AdamW defines it: weights shrink by
/// learning_rate * weight_decay, apart from the gradient.
std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options, std::size_t count);

}  // namespace lockstep::train
