#pragma once

#include <cmath>

#include "lockstep/train/optim/optimizer_rule.h"

namespace lockstep::train {

/// What Adam's moments are too small by after `step` steps from zero (Kingma and Ba 2015).
struct BiasCorrection {
  double first, second;

  BiasCorrection(const OptimizerOptions& options, std::int64_t step)
      : first(1 - std::pow(options.beta1, static_cast<double>(step))),
        second(1 - std::pow(options.beta2, static_cast<double>(step))) {}
};

/// Running means of the slope and of its square.
inline void update_moments(const DeviceUpdate& u, const at::Tensor& slope,
                           const OptimizerOptions& o) {
  u.first.mul_(o.beta1).add_(slope, 1 - o.beta1);
  u.second.mul_(o.beta2).addcmul_(slope, slope, 1 - o.beta2);
}

}  // namespace lockstep::train
