#include <cmath>

#include "lockstep/train/tensor_optimizer.h"

namespace lockstep::train {
namespace {

constexpr double kLambEpsilon = 1e-6;

torch::Tensor stretch(const torch::Tensor& flat, std::size_t begin, std::size_t end) {
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}

/// What a rule works on: a stretch of the flat buffers, and its rate.
struct Stretch {
  torch::Tensor p, g, first, second;  ///< `second` is undefined for rules without it
  double rate = 0;
  bool adapted = true;  ///< as in TensorRange
};

/// Factors of Adam's moments after `t` steps.
struct BiasCorrection {
  double first, second;
  BiasCorrection(const OptimizerOptions& o, std::int64_t t)
      : first(1 - std::pow(o.beta1, static_cast<double>(t))),
        second(1 - std::pow(o.beta2, static_cast<double>(t))) {}
};

void update_moments(const Stretch& s, const torch::Tensor& slope, const OptimizerOptions& o) {
  s.first.mul_(o.beta1).add_(slope, 1 - o.beta1);
  s.second.mul_(o.beta2).addcmul_(slope, slope, 1 - o.beta2);
}

void sgd(const Stretch& s, const OptimizerOptions& o) {
  s.first.mul_(o.momentum).add_(s.g).add_(s.p, o.weight_decay);
  s.p.sub_(s.first, s.rate);
}

void adam(const Stretch& s, const OptimizerOptions& o, std::int64_t t, bool decoupled) {
  const BiasCorrection bias(o, t);
  update_moments(s, decoupled ? s.g : s.g.add(s.p, o.weight_decay), o);
  if (decoupled) s.p.mul_(1 - s.rate * o.weight_decay);
  const auto spread = s.second.sqrt().mul_(1 / std::sqrt(bias.second)).add_(o.epsilon);
  s.p.addcdiv_(s.first, spread, -s.rate / bias.first);
}

void lars(const Stretch& s, const OptimizerOptions& o) {
  const double decay = s.adapted ? o.weight_decay : 0;
  auto step = s.g.add(s.p, decay).mul_(s.rate * o.trust);
  if (s.adapted) {
    // A tensor of zeros has no size to take a share of, and without a gradient none is needed.
    const auto size = s.p.norm(), slope = s.g.norm().add_(size, decay);
    const auto share = size / slope;
    step.mul_(torch::where((size > 0).logical_and(slope > 0), share, torch::ones_like(share)));
  }
  s.first.mul_(o.momentum).add_(step);
  s.p.sub_(s.first);
}

void lamb(const Stretch& s, const OptimizerOptions& o, std::int64_t t) {
  const BiasCorrection bias(o, t);
  update_moments(s, s.g, o);
  const auto spread = s.second.sqrt().mul_(1 / std::sqrt(bias.second)).add_(kLambEpsilon);
  auto step = s.first.div(spread).mul_(1 / bias.first);
  if (s.adapted) {
    step.add_(s.p, o.weight_decay);
    const auto size = s.p.norm(), length = step.norm();
    const auto ratio = size / length;
    step.mul_(torch::where((size > 0).logical_and(length > 0), ratio, torch::ones_like(ratio)));
  }
  s.p.sub_(step, s.rate);
}

class DeviceOptimizer final : public TensorOptimizer {
 public:
  DeviceOptimizer(const OptimizerOptions& options, const std::vector<RateGroup>& groups,
                  const std::vector<TensorRange>& tensors, std::size_t count, torch::Device device)
      : options_(options) {
    // Checks the options; one for no parameters costs nothing.
    make_optimizer(options, {}, 0);
    const auto zeros = [&] {
      return torch::zeros({static_cast<std::int64_t>(count)},
                          torch::TensorOptions().device(device));
    };
    const bool has_moments =
        options.rule != record::Optimizer::kSgd && options.rule != record::Optimizer::kLars;
    first_ = zeros();
    if (has_moments) second_ = zeros();
    const bool by_tensor =
        options.rule == record::Optimizer::kLars || options.rule == record::Optimizer::kLamb;
    for (const RateGroup& group : groups) {
      if (!by_tensor) plan_.push_back({group.begin, group.end, group.rate, true});
      for (const TensorRange& tensor : tensors) {
        if (!by_tensor || tensor.begin < group.begin || tensor.begin >= group.end) continue;
        plan_.push_back({tensor.begin, tensor.begin + tensor.count, group.rate, tensor.adapted});
      }
    }
  }

  void step(const torch::Tensor& parameters, const torch::Tensor& gradients,
            double learning_rate) override {
    const torch::NoGradGuard no_grad;
    ++steps_;
    for (const Entry& entry : plan_) {
      const auto cut = [&](const torch::Tensor& flat) {
        return flat.defined() ? stretch(flat, entry.begin, entry.end) : flat;
      };
      apply({cut(parameters), cut(gradients), cut(first_), cut(second_), learning_rate * entry.rate,
             entry.adapted});
    }
  }

  std::vector<TensorMemory> memory() override {
    if (!second_.defined()) return {{"velocity", first_, 0}};
    return {{"first_moment", first_, 0}, {"second_moment", second_, 0}};
  }

  std::int64_t steps() const override { return steps_; }
  void set_steps(std::int64_t steps) override { steps_ = steps; }

 private:
  struct Entry {
    std::size_t begin, end;
    double rate;
    bool adapted;
  };

  void apply(const Stretch& s) const {
    if (options_.rule == record::Optimizer::kSgd) sgd(s, options_);
    if (options_.rule == record::Optimizer::kAdam) adam(s, options_, steps_, false);
    if (options_.rule == record::Optimizer::kAdamW) adam(s, options_, steps_, true);
    if (options_.rule == record::Optimizer::kLars) lars(s, options_);
    if (options_.rule == record::Optimizer::kLamb) lamb(s, options_, steps_);
  }

  OptimizerOptions options_;
  std::vector<Entry> plan_;
  torch::Tensor first_;
  torch::Tensor second_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<TensorOptimizer> make_device_optimizer(const OptimizerOptions& options,
                                                       std::vector<RateGroup> groups,
                                                       std::vector<TensorRange> tensors,
                                                       std::size_t count, torch::Device device) {
  return std::make_unique<DeviceOptimizer>(options, groups, tensors, count, device);
}

}  // namespace lockstep::train
