#include "lockstep/train/recipes/minibatch.h"

#include <algorithm>

namespace lockstep::train {
namespace {

torch::Tensor images_of(const data::Batch& batch, const data::ImageShape& shape,
                        data::PixelOrder order) {
  const std::int64_t c = shape.channels, h = shape.height, w = shape.width;
  const std::vector<std::int64_t> strides = order == data::PixelOrder::kPlanar
                                                ? std::vector<std::int64_t>{c * h * w, h * w, w, 1}
                                                : std::vector<std::int64_t>{c * h * w, 1, w * c, c};
  const std::vector<std::int64_t> sizes{batch.count(), c, h, w};
  return batch.bytes() != nullptr ? torch::from_blob(batch.bytes(), sizes, strides, torch::kByte)
                                  : torch::from_blob(batch.images(), sizes, strides, torch::kFloat);
}

}  // namespace

Minibatch minibatch_of(const data::Batch& batch, const data::Transform& transform, int targets) {
  Minibatch result;
  result.count = batch.count();
  result.step_count = batch.step_count();
  result.global_count = batch.global_count();
  result.first = batch.first();
  result.micro = batch.micro();
  if (batch.count() == 0) return result;
  result.images = images_of(batch, transform.output_shape(), transform.output_order());
  result.labels = torch::from_blob(batch.labels(), {batch.count()}, torch::kLong);
  if (targets > 0) {
    result.targets = torch::from_blob(batch.targets(), {batch.count(), targets}, torch::kFloat);
  }
  return result;
}

void count_correct(const torch::Tensor& scores, const torch::Tensor& labels, Tally& correct) {
  if (!scores.is_cpu()) {
    correct.add(scores.detach().argmax(1).eq(labels).sum());
    return;
  }
  const auto dense = scores.detach().to(torch::kFloat).contiguous();
  const float* row = dense.data_ptr<float>();
  const std::int64_t classes = dense.size(1);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < dense.size(0); ++i, row += classes) {
    count += std::max_element(row, row + classes) - row == labels.data_ptr<std::int64_t>()[i];
  }
  correct.add(static_cast<double>(count));
}

}  // namespace lockstep::train
