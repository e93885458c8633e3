#include "lockstep/train/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/nets/share_work.h"

namespace lockstep::train {
namespace {

void require(bool holds, const char* option, double value, const char* range) {
  if (holds) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range", option, value),
              fmt::format("give a number {}", range));
}

void check(const OptimizerOptions& options) {
  const auto below_one = [](double x) { return x >= 0 && x < 1; };
  require(below_one(options.momentum), "momentum", options.momentum, "from 0 to below 1");
  require(below_one(options.beta1), "beta", options.beta1, "from 0 to below 1");
  require(below_one(options.beta2), "beta", options.beta2, "from 0 to below 1");
  require(options.weight_decay >= 0, "weight decay", options.weight_decay, "of 0 or more");
  require(options.trust > 0, "trust", options.trust, "above 0");
}

std::span<float> floats_of(const at::Tensor& flat, std::size_t begin, std::size_t end) {
  if (!flat.defined()) return {};
  return {flat.data_ptr<float>() + begin, end - begin};
}

at::Tensor range_of(const at::Tensor& flat, std::size_t begin, std::size_t end) {
  if (!flat.defined()) return flat;
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const ParameterLayout& layout,
                     at::Device device, bool use_tensors, const std::function<at::Tensor()>& zeros)
    : options_(options), rule_(make_rule(options.rule)), on_host_(device.is_cpu() && !use_tensors) {
  check(options);
  const auto make = [&] {
    if (zeros) return zeros();
    return at::zeros({static_cast<std::int64_t>(layout.count)}, at::TensorOptions().device(device));
  };
  first_ = make();
  if (rule_.state.size() > 1) second_ = make();
  for (const RateGroup& group : layout.groups) add_parts(group, layout);
}

/// On the host blocks, which threads share, or whole tensors; elsewhere the whole group.
void Optimizer::add_parts(const RateGroup& group, const ParameterLayout& layout) {
  if (on_host_ && !rule_.by_tensor) {
    layout.share.each(group.begin, group.end, [&](std::size_t begin, std::size_t end) {
      parts_.push_back({begin, end, group.rate});
    });
    return;
  }
  if (!on_host_) parts_.push_back({group.begin, group.end, group.rate});
  for (const TensorRange& tensor : layout.tensors) {
    if (!rule_.by_tensor || tensor.begin < group.begin || tensor.begin >= group.end) continue;
    if (on_host_) {
      parts_.push_back({tensor.begin, tensor.begin + tensor.count, group.rate, tensor.adapted});
    } else if (tensor.adapted && tensor.count > 0) {
      parts_.back().adapted_tensors.emplace_back(tensor.begin - group.begin, tensor.count);
    }
  }
}

void Optimizer::step(const at::Tensor& parameters, const at::Tensor& gradients,
                     double learning_rate) {
  const at::NoGradGuard no_grad;
  ++steps_;
  if (!on_host_) {
    for (const auto& [begin, end, rate, adapted, adapted_tensors] : parts_) {
      rule_.device({range_of(parameters, begin, end), range_of(gradients, begin, end),
                    range_of(first_, begin, end), range_of(second_, begin, end),
                    learning_rate * rate, steps_, adapted_tensors},
                   options_);
    }
    return;
  }
  const auto update = [&](std::int64_t from, std::int64_t to) {
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
      update_on_host(parts_[i], parameters, gradients, learning_rate);
    }
  };
  const auto count = static_cast<std::int64_t>(parts_.size());
  if (rule_.by_tensor) {
    update(0, count);
  } else {
    constexpr std::int64_t kBlocksPerThread = 4;  // so many that the start of a thread pays
    nets::share_work(count, kBlocksPerThread, update);
  }
}

void Optimizer::update_on_host(const Part& part, const at::Tensor& parameters,
                               const at::Tensor& gradients, double learning_rate) const {
  rule_.host({.parameters = floats_of(parameters, part.begin, part.end),
              .gradients = floats_of(gradients, part.begin, part.end),
              .first = floats_of(first_, part.begin, part.end),
              .second = floats_of(second_, part.begin, part.end),
              .rate = learning_rate * part.rate,
              .step = steps_,
              .adapted = part.adapted},
             options_);
}

std::vector<OptimizerState> Optimizer::state() const {
  std::vector<OptimizerState> all{{rule_.state[0], first_}};
  if (second_.defined()) all.push_back({rule_.state[1], second_});
  return all;
}

}  // namespace lockstep::train
