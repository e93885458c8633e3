#include "lockstep/train/flat_parameters.h"

#include "lockstep/base/error.h"

namespace lockstep::train {

FlatParameters::FlatParameters(std::vector<torch::Tensor> parameters, const comm::BucketPlan& plan)
    : parameters_(std::move(parameters)),
      flat_(torch::zeros({static_cast<std::int64_t>(plan.tail_begin)})) {
  const torch::Device device = parameters_.empty() ? torch::kCPU : parameters_[0].device();
  on_device_ = device.is_cpu() ? flat_ : torch::zeros_like(flat_, flat_.options().device(device));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& parameter = parameters_[i];
    if (parameter.scalar_type() != torch::kFloat || !parameter.is_non_overlapping_and_dense()) {
      throw Error(ErrorKind::kUsage, "only dense 32-bit parameters can be trained",
                  "convert the network with .to(torch::kFloat)");
    }
    auto view = on_device_.as_strided(parameter.sizes(), parameter.strides(),
                                      static_cast<std::int64_t>(plan.offset_of[i]));
    view.copy_(parameter.detach());
    parameter.set_data(view);
  }
  fetch();
}

void FlatParameters::fetch() {
  if (!on_device_.is_same(flat_)) flat_.copy_(on_device_);
}

void FlatParameters::publish() {
  if (!on_device_.is_same(flat_)) on_device_.copy_(flat_);
}

std::vector<torch::Tensor> trainable_parameters(const torch::nn::Module& module) {
  std::vector<torch::Tensor> trainable;
  for (const auto& parameter : module.parameters()) {
    if (parameter.requires_grad()) trainable.push_back(parameter);
  }
  return trainable;
}

std::vector<std::int64_t> element_counts(std::span<const torch::Tensor> tensors) {
  std::vector<std::int64_t> counts;
  for (const auto& tensor : tensors) counts.push_back(tensor.numel());
  return counts;
}

}  // namespace lockstep::train
