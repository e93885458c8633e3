#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/comm/wire/shares.h"
#include "lockstep/train/optim/optimizer_rule.h"

namespace lockstep::train {

/// Where one parameter tensor lies in the flat buffers.
struct TensorRange {
  std::size_t begin = 0;
  std::size_t count = 0;
  /// Whether LARS and LAMB adapt its rate and decay it. The papers' rule: tensors of two or more
  /// dimensions are adapted; biases and the scales and shifts of batch norms (one dimension) are
  /// not.
  bool adapted = true;
};

/// A range of the flat parameters that moves at its own fraction of the learning rate.
struct RateGroup {
  std::size_t begin = 0;
  std::size_t end = 0;
  double rate = 1;
};

/// How `count` floats of flat parameters are made up. `groups` cover 0 to `count` in order.
struct ParameterLayout {
  std::vector<RateGroup> groups;
  std::vector<TensorRange> tensors;
  std::size_t count = 0;
  /// What of them this optimizer updates; others update the rest of the same memory. Not for rules
  /// by tensor.
  comm::Shares share{};
};

/// One buffer of an optimizer's state, laid out as the parameters are, on their device.
struct OptimizerState {
  std::string name;  ///< "velocity", "first_moment", "second_moment"
  at::Tensor values;
};

/// Moves flat parameters along flat gradients, on any device. On a CPU each update is one
/// vectorised pass over contiguous memory, elsewhere a few tensor operations. What lies between
/// tensors must be zero and stays zero. The same inputs give the same bits on every rank.
class Optimizer {
 public:
  /// `use_tensors` forces the tensor operations on a CPU, for tests. Throws kUsage for options out
  /// of range. `zeros` gives the memory of each state buffer, for optimizers that share it; without
  /// it they get their own.
  Optimizer(const OptimizerOptions& options, const ParameterLayout& layout, at::Device device,
            bool use_tensors = false, const std::function<at::Tensor()>& zeros = {});

  /// Both are flat, of the length of the layout. On a GPU the work is only queued.
  void step(const at::Tensor& parameters, const at::Tensor& gradients, double learning_rate);

  /// All that a checkpoint must keep besides steps(); zeros at the start. Shares memory.
  std::vector<OptimizerState> state() const;

  /// Steps done.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  struct Part {
    std::size_t begin, end;
    double rate;
    bool adapted = true;                                                   ///< of HostUpdate
    std::vector<std::pair<std::int64_t, std::int64_t>> adapted_tensors{};  ///< of DeviceUpdate
  };

  void add_parts(const RateGroup& group, const ParameterLayout& layout);
  void update_on_host(const Part& part, const at::Tensor& parameters, const at::Tensor& gradients,
                      double learning_rate) const;

  OptimizerOptions options_;
  OptimizerRule rule_;
  bool on_host_;
  std::vector<Part> parts_;
  at::Tensor first_;
  at::Tensor second_;
  std::int64_t steps_ = 0;
};

}  // namespace lockstep::train
