#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/record/choices.h"

namespace lockstep::train {

/// Where one parameter tensor lies in the flat buffers.
struct TensorRange {
  std::size_t begin = 0;
  std::size_t count = 0;
  /// Whether LARS and LAMB adapt its rate and decay it. The rule, by the papers: tensors of two or
  /// more dimensions are; biases and the scales and shifts of batch norms (one dimension) are not.
  bool adapted = true;
};

struct OptimizerOptions {
  record::Optimizer rule = record::Optimizer::kSgd;
  double momentum = 0.9;  ///< sgd, lars
  double weight_decay = 0;
  double beta1 = 0.9;  ///< adam, adamw, lamb
  double beta2 = 0.999;
  double epsilon = 1e-8;  ///< adam and adamw; LAMB uses its paper's 1e-6
  double trust = 0.001;   ///< lars: share of a tensor's norm that a step of rate 1 moves it by
};

/// One of an optimizer's buffers, laid out as the parameters are.
struct OptimizerMemory {
  std::string name;  ///< "velocity", "first_moment", "second_moment"
  std::span<float> values;
  std::size_t begin = 0;  ///< where in the flat buffer they begin
};

/// Moves flat parameters along flat gradients. Every pass is over contiguous memory; what lies
/// between tensors must be zero and stays so. The same inputs give the same bits on every rank.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Both spans have the length given to make_optimizer().
  void step(std::span<float> parameters, std::span<const float> gradients, double learning_rate) {
    ++steps_;
    apply(parameters, gradients, learning_rate);
  }

  /// All that a checkpoint must keep, besides steps(). Zeros at the start.
  virtual std::vector<OptimizerMemory> memory() = 0;

  /// Steps done; Adam's bias correction depends on it.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 protected:
  Optimizer() = default;
  virtual void apply(std::span<float> parameters, std::span<const float> gradients,
                     double learning_rate) = 0;

 private:
  std::int64_t steps_ = 0;
};

/// `count` floats of parameters, of which `tensors` says what lies where. Throws kUsage for
/// options out of range.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<TensorRange> tensors, std::size_t count);

}  // namespace lockstep::train
