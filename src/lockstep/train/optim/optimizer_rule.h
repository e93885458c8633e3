#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/record/choices.h"

namespace lockstep::train {

struct OptimizerOptions {
  record::Optimizer rule = record::Optimizer::kSgd;
  double momentum = 0.9;  ///< of rules without betas
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;  ///< adam and adamw; LAMB uses its paper's 1e-6
  double trust = 0.001;   ///< lars: fraction of a tensor's norm that a step of rate 1 moves it by
};

/// One update of a range of the flat buffers, in the memory of the host.
struct HostUpdate {
  std::span<float> parameters;
  std::span<const float> gradients;
  std::span<float> first;   ///< the rule's first state buffer
  std::span<float> second;  ///< its second; empty if it has one only
  double rate = 0;
  std::int64_t step = 1;  ///< of the run, from 1; Adam's bias correction depends on it
  bool adapted = true;    ///< as in TensorRange
};

/// The same in tensors of any device. A rule by tensor also gets a whole group at once: one launch
/// for all of it costs a GPU as much as one for a bias.
struct DeviceUpdate {
  at::Tensor parameters, gradients, first, second;
  double rate = 0;
  std::int64_t step = 1;
  /// Of a rule by tensor: begin and count, within the above, of the tensors that it adapts.
  std::vector<std::pair<std::int64_t, std::int64_t>> adapted;

  /// Views of a flat buffer that is laid out as the parameters are.
  std::vector<at::Tensor> adapted_parts(const at::Tensor& flat) const {
    std::vector<at::Tensor> parts;
    for (const auto& [begin, count] : adapted) parts.push_back(flat.narrow(0, begin, count));
    return parts;
  }
};

/// How one optimizer moves parameters. Both functions compute the same update; where all inputs are
/// zero they leave zeros, so that the gaps between tensors stay zero.
struct OptimizerRule {
  /// Names of its one or two state buffers, as checkpoints keep them.
  std::vector<std::string> state;
  /// Whether the update depends on the norms of whole tensors. If not, one update covers all
  /// parameters that have the same rate.
  bool by_tensor = false;
  void (*host)(const HostUpdate& update, const OptimizerOptions& options) = nullptr;
  /// Only queues the work: the host waits for no result.
  void (*device)(const DeviceUpdate& update, const OptimizerOptions& options) = nullptr;
};

#define LOCKSTEP_DECLARE_RULE(value, name, rate, betas) OptimizerRule name##_rule();
LOCKSTEP_OPTIMIZERS(LOCKSTEP_DECLARE_RULE)
#undef LOCKSTEP_DECLARE_RULE

OptimizerRule make_rule(record::Optimizer optimizer);

}  // namespace lockstep::train
