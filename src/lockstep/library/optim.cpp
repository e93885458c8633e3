#include "lockstep/optim.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "lockstep/library/optimizer_state.h"
#include "lockstep/train/optim/optimizer_rule.h"

namespace lockstep::optim {
namespace {

using train::HostUpdate;
using train::OptimizerRule;

/// Floats that a thread updates at a time: whole cache lines, and small enough to share evenly.
constexpr std::size_t kFloatsPerPart = 1 << 14;
/// Fewer parts than this are not worth another thread.
constexpr std::int64_t kPartsPerThread = 4;

struct Part {
  HostUpdate update;
  const train::OptimizerOptions* options;
};

/// One step of the rules of `lockstep train`, collected first: it is made for all parameters or,
/// where one does not suit them, for none.
class HostStep {
 public:
  explicit HostStep(const OptimizerRule& rule) : rule_(rule) {}

  void begin_group(const train::OptimizerOptions& options) { options_.push_back(options); }

  static bool suits(const torch::Tensor& parameter) {
    return parameter.is_cpu() && parameter.scalar_type() == torch::kFloat &&
           parameter.is_non_overlapping_and_dense() && is_alike(parameter.grad(), parameter);
  }
  /// Whether its elements lie in memory as those of the parameter.
  static bool is_alike(const torch::Tensor& tensor, const torch::Tensor& parameter) {
    return tensor.layout() == torch::kStrided && tensor.is_cpu() &&
           tensor.scalar_type() == torch::kFloat && tensor.sizes() == parameter.sizes() &&
           tensor.strides() == parameter.strides();
  }

  void add(const torch::Tensor& parameter, const torch::Tensor& first, const torch::Tensor& second,
           double rate, std::int64_t step) {
    const std::size_t count = floats_of(parameter).size();
    for (std::size_t begin = 0; begin < count; begin += kFloatsPerPart) {
      const auto part = [&](const torch::Tensor& tensor) {
        const auto all = floats_of(tensor);
        return all.empty() ? all : all.subspan(begin, std::min(kFloatsPerPart, count - begin));
      };
      parts_.push_back({{.parameters = part(parameter),
                         .gradients = part(parameter.grad()),
                         .first = part(first),
                         .second = part(second),
                         .rate = rate,
                         .step = step},
                        &options_.back()});
    }
  }

  void run() const {
    at::parallel_for(0, static_cast<std::int64_t>(parts_.size()), kPartsPerThread,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         const Part& part = parts_[static_cast<std::size_t>(i)];
                         rule_.host(part.update, *part.options);
                       }
                     });
  }

 private:
  static std::span<float> floats_of(const torch::Tensor& tensor) {
    if (!tensor.defined()) return {};
    return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
  }

  OptimizerRule rule_;
  std::deque<train::OptimizerOptions> options_;  ///< of each group; parts point to them
  std::vector<Part> parts_;
};

torch::Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure) {
  if (closure == nullptr) return {};
  const torch::AutoGradMode on(true);
  return closure();
}

/// What differs between the optimizers.
struct SgdTerms {
  using Options = torch::optim::SGDOptions;
  using State = torch::optim::SGDParamState;

  static OptimizerRule rule() { return train::sgd_rule(); }
  static bool has_pass(const Options& options) {
    return options.momentum() != 0 && options.dampening() == 0 && !options.nesterov();
  }
  static train::OptimizerOptions options_of(const Options& options) {
    return {.momentum = options.momentum(), .weight_decay = options.weight_decay()};
  }
  static std::vector<torch::Tensor*> tensors(State& state) { return {&state.momentum_buffer()}; }
  static std::int64_t next_step(State&) { return 1; }  // the same in every step
};

template <class AdamOptions, class AdamState, OptimizerRule (*adam_rule)()>
struct AdamTerms {
  using Options = AdamOptions;
  using State = AdamState;

  static OptimizerRule rule() { return adam_rule(); }
  static bool has_pass(const Options& options) { return !options.amsgrad(); }
  static train::OptimizerOptions options_of(const Options& options) {
    return {.weight_decay = options.weight_decay(),
            .beta1 = std::get<0>(options.betas()),
            .beta2 = std::get<1>(options.betas()),
            .epsilon = options.eps()};
  }
  static std::vector<torch::Tensor*> tensors(State& state) {
    return {&state.exp_avg(), &state.exp_avg_sq()};
  }
  static std::int64_t next_step(State& state) {
    state.step(state.step() + 1);
    return state.step();
  }
};

/// The state of the parameter, made at its first step.
template <class State>
State& state_of(library::OptimizerStates& states, const torch::Tensor& parameter) {
  auto& state = states[library::state_key(parameter)];
  if (!state) state = std::make_unique<State>();
  return static_cast<State&>(*state);
}

template <class Terms>
bool all_suit(std::vector<torch::optim::OptimizerParamGroup>& groups,
              library::OptimizerStates& states) {
  for (auto& group : groups) {
    const auto& options = static_cast<const typename Terms::Options&>(group.options());
    if (!Terms::has_pass(options)) return false;
    for (const torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      if (!HostStep::suits(parameter)) return false;
      const auto found = states.find(library::state_key(parameter));
      if (found == states.end()) continue;
      for (const torch::Tensor* tensor :
           Terms::tensors(static_cast<typename Terms::State&>(*found->second))) {
        if (tensor->defined() && !HostStep::is_alike(*tensor, parameter)) return false;
      }
    }
  }
  return true;
}

/// False, with nothing changed, if the step is to be left to the base class.
template <class Terms>
bool step_on_host(std::vector<torch::optim::OptimizerParamGroup>& groups,
                  library::OptimizerStates& states) {
  if (!all_suit<Terms>(groups, states)) return false;
  HostStep step(Terms::rule());
  for (auto& group : groups) {
    const auto& options = static_cast<const typename Terms::Options&>(group.options());
    step.begin_group(Terms::options_of(options));
    for (const torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      auto& state = state_of<typename Terms::State>(states, parameter);
      const auto tensors = Terms::tensors(state);
      for (torch::Tensor* tensor : tensors) {
        if (!tensor->defined()) *tensor = torch::zeros_like(parameter);
      }
      step.add(parameter, *tensors.front(), tensors.size() > 1 ? *tensors[1] : torch::Tensor(),
               options.lr(), Terms::next_step(state));
    }
  }
  step.run();
  return true;
}

void clear(std::vector<torch::optim::OptimizerParamGroup>& groups, bool set_to_none) {
  for (auto& group : groups) {
    for (torch::Tensor& parameter : group.params()) {
      torch::Tensor& grad = parameter.mutable_grad();
      if (!grad.defined()) continue;
      if (set_to_none) {
        grad.reset();
      } else {
        grad.detach_().zero_();
      }
    }
  }
}

}  // namespace

void SGD::zero_grad(bool set_to_none) {
  clear(param_groups_, set_to_none);
}

void Adam::zero_grad(bool set_to_none) {
  clear(param_groups_, set_to_none);
}

void AdamW::zero_grad(bool set_to_none) {
  clear(param_groups_, set_to_none);
}

torch::Tensor SGD::step(LossClosure closure) {
  const torch::NoGradGuard no_grad;
  auto loss = loss_of(closure);
  if (!step_on_host<SgdTerms>(param_groups_, state_)) torch::optim::SGD::step();
  return loss;
}

torch::Tensor Adam::step(LossClosure closure) {
  using Terms =
      AdamTerms<torch::optim::AdamOptions, torch::optim::AdamParamState, train::adam_rule>;
  const torch::NoGradGuard no_grad;
  auto loss = loss_of(closure);
  if (!step_on_host<Terms>(param_groups_, state_)) torch::optim::Adam::step();
  return loss;
}

torch::Tensor AdamW::step(LossClosure closure) {
  using Terms =
      AdamTerms<torch::optim::AdamWOptions, torch::optim::AdamWParamState, train::adamw_rule>;
  const torch::NoGradGuard no_grad;
  auto loss = loss_of(closure);
  if (!step_on_host<Terms>(param_groups_, state_)) torch::optim::AdamW::step();
  return loss;
}

}  // namespace lockstep::optim
