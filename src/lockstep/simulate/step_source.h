#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/predict/estimate.h"
#include "lockstep/simulate/jitter.h"
#include "lockstep/simulate/network/cluster.h"
#include "lockstep/simulate/step_shape.h"

namespace lockstep::simulate {

/// Links that were measured, and how well latency and bandwidth fit their times.
struct MeasuredLink {
  LinkSpeed speed;
  double spread = 0;
  std::string origin{};

  bool known() const { return speed.bytes_per_s > 0; }
};

/// Workers on hosts, and the machines behind these: containers and virtual machines of one machine
/// share its cores.
struct Sharers {
  std::int64_t workers = 1;
  std::int64_t hosts = 1;
  std::int64_t machines = 1;

  std::int64_t on_one_machine() const { return (workers + machines - 1) / machines; }
};

/// What workers do to each other that share the cores of a machine, against the measured run.
struct SharedCores {
  predict::Estimate compute{1, 1, 1};  ///< factor on compute
  bool spare_core = true;              ///< that sums gradients while the others compute
  int cores = 0;                       ///< of a machine
};
using CoreSharing = std::function<SharedCores(const Sharers&)>;

/// Relative doubt about the compute time of other runs of the same step: 3 % between runs, twice,
/// and 8 % for what phases leave out, as `lockstep predict` has it.
inline constexpr double kStepSpread = 0.09;

/// A step with its communication, as a run of several workers took it.
struct MeasuredCount {
  std::int64_t workers = 0;
  std::int64_t hosts = 0;
  double step_s = 0;  ///< 0 = not known
};

/// What a run of a store contributes to a simulation. Settings of the user replace its parts.
struct StepSource {
  std::string text{};  ///< "run 12: fashion, b = 128, 1,165 steps of 2 workers"
  StepShape shape{};   ///< without buckets
  Jitter jitter{};
  double gradient_bytes = 0;         ///< of 32 bits; 0 = not known
  double bucket_bytes = 25e6;        ///< of 32-bit gradients
  bool half_wire = false;            ///< gradients were sent in 16 bits
  std::vector<LayerShare> layers{};  ///< where the network is known
  double compute_spread = kStepSpread;
  double train_examples = 0;  ///< of one epoch; 0 = not known
  MeasuredLink inside{};
  MeasuredLink between{};
  MeasuredCount measured{};
  CoreSharing sharing{};  ///< empty where each worker has a device of its own
};

}  // namespace lockstep::simulate
