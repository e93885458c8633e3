#pragma once

#include <memory>
#include <vector>

#include "lockstep/train/optimizer.h"

namespace lockstep::train {

/// A stretch of the flat parameters that moves at its own part of the learning rate.
struct RateGroup {
  std::size_t begin = 0;
  std::size_t end = 0;
  double rate = 1;
};

/// Like make_optimizer(), each group of `groups`, which cover 0 to `count` in order, at its rate.
std::unique_ptr<Optimizer> make_grouped_optimizer(const OptimizerOptions& options,
                                                  std::vector<RateGroup> groups,
                                                  const std::vector<TensorRange>& tensors,
                                                  std::size_t count);

}  // namespace lockstep::train
