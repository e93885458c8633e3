#include "lockstep/train/classification.h"

#include <algorithm>

namespace lockstep::train {

torch::Tensor images_of(const data::Batch& batch, const data::ImageShape& shape,
                        data::PixelOrder order) {
  const std::int64_t c = shape.channels, h = shape.height, w = shape.width;
  const std::vector<std::int64_t> strides =
      order == data::PixelOrder::kPlanar ? std::vector<std::int64_t>{c * h * w, h * w, w, 1}
                                         : std::vector<std::int64_t>{c * h * w, 1, w * c, c};
  return torch::from_blob(batch.images(), {batch.count(), c, h, w}, strides, torch::kFloat);
}

torch::Tensor labels_of(const data::Batch& batch) {
  return torch::from_blob(batch.labels(), {batch.count()}, torch::kLong);
}

std::int64_t count_correct(const torch::Tensor& scores, const data::Batch& batch) {
  const auto dense = scores.detach().to(torch::kCPU, torch::kFloat).contiguous();
  const float* row = dense.data_ptr<float>();
  const std::int64_t classes = dense.size(1);
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < batch.count(); ++i, row += classes) {
    correct += std::max_element(row, row + classes) - row == batch.labels()[i] ? 1 : 0;
  }
  return correct;
}

}  // namespace lockstep::train
