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
  return torch::from_blob(batch.images(), {batch.count(), c, h, w}, strides, torch::kFloat);
}

}  // namespace

Minibatch minibatch_of(const data::Batch& batch, const data::Transform& transform, int targets,
                       std::int64_t step, Device& device) {
  Minibatch result;
  result.count = batch.count();
  result.step_count = batch.step_count();
  result.global_count = batch.global_count();
  result.first = batch.first();
  result.step = step;
  result.micro = batch.micro();
  if (batch.count() == 0) return result;
  result.images = device.take(images_of(batch, transform.output_shape(), transform.output_order()));
  result.labels = device.take(torch::from_blob(batch.labels(), {batch.count()}, torch::kLong));
  if (targets > 0) {
    result.targets =
        device.take(torch::from_blob(batch.targets(), {batch.count(), targets}, torch::kFloat));
  }
  return result;
}

std::int64_t count_correct(const torch::Tensor& scores, const torch::Tensor& labels) {
  const auto dense = scores.detach().to(torch::kCPU, torch::kFloat).contiguous();
  const auto right = labels.cpu();
  const float* row = dense.data_ptr<float>();
  const std::int64_t classes = dense.size(1);
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < dense.size(0); ++i, row += classes) {
    correct += std::max_element(row, row + classes) - row == right.data_ptr<std::int64_t>()[i];
  }
  return correct;
}

}  // namespace lockstep::train
