#include "lockstep/train/sync/flat_parameters.h"

#include "lockstep/base/error.h"

namespace lockstep::train {

FlatParameters::FlatParameters(std::vector<torch::Tensor> parameters, const comm::BucketPlan& plan,
                               std::span<float> memory, bool fills)
    : parameters_(std::move(parameters)) {
  const auto count = static_cast<std::int64_t>(plan.tail_begin);
  flat_ = memory.empty() ? torch::zeros({count}, common_device(parameters_))
                         : torch::from_blob(memory.data(), {count});
  if (flat_.is_cpu()) on_host_ = flat_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& parameter = parameters_[i];
    if (parameter.scalar_type() != torch::kFloat || !parameter.is_non_overlapping_and_dense()) {
      throw Error(ErrorKind::kUsage, "only dense 32-bit parameters can be trained",
                  "convert the network with .to(torch::kFloat)");
    }
    auto view = flat_.as_strided(parameter.sizes(), parameter.strides(),
                                 static_cast<std::int64_t>(plan.offset_of[i]));
    if (fills) view.copy_(parameter.detach());
    parameter.set_data(view);
  }
}

std::span<float> FlatParameters::values() {
  if (!on_host_.defined()) to_host();
  return {on_host_.data_ptr<float>(), static_cast<std::size_t>(on_host_.numel())};
}

void FlatParameters::to_host() {
  if (flat_.is_cpu()) return;
  if (!on_host_.defined()) on_host_ = torch::empty_like(flat_, torch::kCPU);
  on_host_.copy_(flat_);
}

void FlatParameters::to_device() {
  if (!flat_.is_cpu() && on_host_.defined()) flat_.copy_(on_host_);
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

torch::Device common_device(std::span<const torch::Tensor> tensors) {
  return tensors.empty() ? torch::Device(torch::kCPU) : tensors.front().device();
}

}  // namespace lockstep::train
