#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "lockstep/train/optimizer.h"

namespace lockstep::train {

struct SgdOptions {
  float learning_rate = 0.1F;
  float momentum = 0.9F;
  float weight_decay = 0;
};

/// One step of SGD with momentum and weight decay in a single pass over memory, as
/// torch::optim::SGD defines it: g = gradient + weight_decay * p; v = momentum * v + g; p = p -
/// learning_rate * v. All three spans have one length; `velocity` starts as zeros.
void sgd_step(std::span<float> parameters, std::span<const float> gradients,
              std::span<float> velocity, const SgdOptions& options);

/// The same behind the interface of all optimizers.
std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, std::size_t count);

}  // namespace lockstep::train
