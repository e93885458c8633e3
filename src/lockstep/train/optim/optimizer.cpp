#include "lockstep/train/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

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
                     at::Device device, bool use_tensors)
    : options_(options), rule_(make_rule(options.rule)), on_host_(device.is_cpu() && !use_tensors) {
  check(options);
  const auto zeros = [&] {
    return at::zeros({static_cast<std::int64_t>(layout.count)}, at::TensorOptions().device(device));
  };
  first_ = zeros();
  if (rule_.state.size() > 1) second_ = zeros();
  for (const RateGroup& group : layout.groups) {
    const bool whole = !rule_.by_tensor || !on_host_;
    if (whole) parts_.push_back({group.begin, group.end, group.rate});
    for (const TensorRange& tensor : layout.tensors) {
      if (!rule_.by_tensor || tensor.begin < group.begin || tensor.begin >= group.end) continue;
      if (!whole) {
        parts_.push_back({tensor.begin, tensor.begin + tensor.count, group.rate, tensor.adapted});
      } else if (tensor.adapted && tensor.count > 0) {
        parts_.back().adapted_tensors.emplace_back(tensor.begin - group.begin, tensor.count);
      }
    }
  }
}

void Optimizer::step(const at::Tensor& parameters, const at::Tensor& gradients,
                     double learning_rate) {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (const auto& [begin, end, rate, adapted, adapted_tensors] : parts_) {
    if (on_host_) {
      const HostUpdate whole{.parameters = floats_of(parameters, begin, end),
                             .gradients = floats_of(gradients, begin, end),
                             .first = floats_of(first_, begin, end),
                             .second = floats_of(second_, begin, end),
                             .rate = learning_rate * rate,
                             .step = steps_,
                             .adapted = adapted};
      if (rule_.by_tensor) {
        rule_.host(whole, options_);
      } else {
        update_in_parts(whole);
      }
    } else {
      rule_.device({range_of(parameters, begin, end), range_of(gradients, begin, end),
                    range_of(first_, begin, end), range_of(second_, begin, end),
                    learning_rate * rate, steps_, adapted_tensors},
                   options_);
    }
  }
}

void Optimizer::update_in_parts(const HostUpdate& whole) const {
  // In whole cache lines, and in blocks that are long enough for the start of a thread to pay.
  constexpr std::size_t kBlock = 1 << 14;
  const std::size_t count = whole.parameters.size();
  const auto blocks = static_cast<std::int64_t>((count + kBlock - 1) / kBlock);
  nets::share_work(blocks, 4, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t from = static_cast<std::size_t>(begin) * kBlock;
    const std::size_t to = std::min(static_cast<std::size_t>(end) * kBlock, count);
    const auto part = [&](auto span) {
      return span.empty() ? span : span.subspan(from, to - from);
    };
    HostUpdate mine = whole;
    mine.parameters = part(whole.parameters);
    mine.gradients = part(whole.gradients);
    mine.first = part(whole.first);
    mine.second = part(whole.second);
    rule_.host(mine, options_);
  });
}

std::vector<OptimizerState> Optimizer::state() const {
  std::vector<OptimizerState> all{{rule_.state[0], first_}};
  if (second_.defined()) all.push_back({rule_.state[1], second_});
  return all;
}

}  // namespace lockstep::train
