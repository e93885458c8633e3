#include "lockstep/train/checkpoint/training_state.h"

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

std::vector<RateGroup> rate_groups(const torch::nn::Module& network, const comm::BucketPlan& plan,
                                   const std::function<double(const std::string&)>& rate_of) {
  std::vector<double> rates;
  for (const auto& item : network.named_parameters()) {
    if (item.value().requires_grad()) rates.push_back(rate_of(item.key()));
  }
  // The last parameter lies first.
  std::vector<RateGroup> groups;
  for (std::size_t i = rates.size(); i-- > 0;) {
    if (!groups.empty() && groups.back().rate == rates[i]) continue;
    const std::size_t begin = groups.empty() ? 0 : plan.offset_of[i];
    if (!groups.empty()) groups.back().end = begin;
    groups.push_back({begin, plan.tail_begin, rates[i]});
  }
  return groups;
}

std::vector<NamedTensor> model_tensors(const torch::nn::Module& network) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : network.named_parameters()) tensors.push_back({item.key(), item.value()});
  for (const auto& item : network.named_buffers()) tensors.push_back({item.key(), item.value()});
  return tensors;
}

std::vector<NamedTensor> optimizer_tensors(const Optimizer& optimizer,
                                           const torch::nn::Module& network,
                                           const comm::BucketPlan& plan) {
  std::vector<NamedTensor> tensors;
  for (const OptimizerState& state : optimizer.state()) {
    std::size_t index = 0;
    for (const auto& item : network.named_parameters()) {
      const auto& parameter = item.value();
      if (!parameter.requires_grad()) continue;
      const auto offset = static_cast<std::int64_t>(plan.offset_of[index++]);
      tensors.push_back({state.name + "/" + item.key(),
                         state.values.as_strided(parameter.sizes(), parameter.strides(), offset)});
    }
  }
  return tensors;
}

}  // namespace lockstep::train
