#include "lockstep/train/training_state.h"

namespace lockstep::train {

std::vector<TensorRange> tensor_ranges(std::span<const torch::Tensor> parameters,
                                       const comm::BucketPlan& plan) {
  std::vector<TensorRange> ranges;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ranges.push_back({.begin = plan.offset_of[i],
                      .count = static_cast<std::size_t>(parameters[i].numel()),
                      .adapted = parameters[i].dim() > 1});
  }
  return ranges;
}

std::vector<NamedTensor> model_tensors(const torch::nn::Module& network) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : network.named_parameters()) tensors.push_back({item.key(), item.value()});
  for (const auto& item : network.named_buffers()) tensors.push_back({item.key(), item.value()});
  return tensors;
}

std::vector<NamedTensor> optimizer_tensors(Optimizer& optimizer, const torch::nn::Module& network,
                                           const comm::BucketPlan& plan) {
  std::vector<NamedTensor> tensors;
  for (const OptimizerMemory& memory : optimizer.memory()) {
    const auto flat =
        torch::from_blob(memory.values.data(), {static_cast<std::int64_t>(memory.values.size())});
    std::size_t index = 0;
    for (const auto& item : network.named_parameters()) {
      const auto& parameter = item.value();
      if (!parameter.requires_grad()) continue;
      tensors.push_back({memory.name + "/" + item.key(),
                         flat.as_strided(parameter.sizes(), parameter.strides(),
                                         static_cast<std::int64_t>(plan.offset_of[index++]))});
    }
  }
  return tensors;
}

}  // namespace lockstep::train
