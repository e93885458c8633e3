#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "lockstep/data/augment/transform.h"
#include "lockstep/data/loader.h"
#include "lockstep/train/recipes/tally.h"

namespace lockstep::train {

/// One micro-batch as a task sees it.
struct Minibatch {
  torch::Tensor images;           ///< N x C x H x W
  torch::Tensor labels;           ///< N classes
  torch::Tensor targets;          ///< N x targets; undefined for a classification
  std::int64_t count = 0;         ///< N
  std::int64_t step_count = 0;    ///< of this rank in the whole step
  std::int64_t global_count = 0;  ///< examples of all ranks in the whole step
  std::int64_t first = 0;         ///< place of the first of them among those
  std::int64_t step = 0;          ///< of the run, from 0
  int micro = 0;                  ///< within the step
};

/// Its tensors are those of the host, valid as long as the batch is. Images are bytes where the
/// batch has them.
Minibatch minibatch_of(const data::Batch& batch, const data::Transform& transform, int targets);

/// Adds the number of rows of `scores` whose largest value is at their label.
void count_correct(const torch::Tensor& scores, const torch::Tensor& labels, Tally& correct);

}  // namespace lockstep::train
