#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "lockstep/data/loader.h"
#include "lockstep/data/transform.h"

namespace lockstep::train {

/// The batch's images as a tensor over the loader's memory: valid while the batch is held.
torch::Tensor images_of(const data::Batch& batch, const data::ImageShape& shape,
                        data::PixelOrder order);
torch::Tensor labels_of(const data::Batch& batch);

/// Rows of `scores` whose largest value stands at their label.
std::int64_t count_correct(const torch::Tensor& scores, const data::Batch& batch);

}  // namespace lockstep::train
