#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/estimate.h"
#include "lockstep/simulate/network/network_request.h"
#include "lockstep/simulate/step_source.h"
#include "lockstep/simulate/step_timeline.h"

namespace lockstep::simulate {

/// Workers that differ from the measured one.
struct OddWorkers {
  double share = 0;  ///< of all workers; 0 = exactly one worker
  double speed = 1;  ///< relative to the measured worker
};

/// What is simulated, for any number of workers.
struct Scenario {
  std::string name{};  ///< beside others
  StepShape shape;
  Jitter jitter;
  Cluster cluster;                     ///< its count of workers is set for each point
  std::optional<Algorithm> algorithm;  ///< none = the fastest of ring, tree and hierarchical
  std::vector<OddWorkers> odd{};
  CoreSharing sharing{};        ///< empty where each worker has a device of its own
  std::int64_t machines = 0;    ///< behind the hosts; 0 = as many as hosts
  bool overlap_stated = false;  ///< overlap is as the user wants it, also without a spare core
  double link_spread = 0;       ///< relative standard deviation of the link's times
  double compute_spread = 0;    ///< of the mean compute time
};

/// Times all-reduces on a cluster in which links are shared: `lockstep-sim`.
using NetworkEngine = std::function<NetworkAnswer(const NetworkRequest&)>;

/// One simulated count.
struct SimulatedPoint {
  std::int64_t workers = 1;
  std::int64_t hosts = 1;
  Algorithm algorithm = Algorithm::kRing;
  bool flows = false;  ///< the network was simulated; otherwise counted, which is exact there
  StepParts parts;
  std::vector<double> all_reduce_s{};  ///< of each bucket
  StepShape shape{};  ///< of this step: compute takes longer where cores are shared
  SharedCores shared{};
  std::int64_t on_one_machine = 1;  ///< workers that share its cores
  predict::Estimate step_s;
  std::optional<predict::Estimate> examples_per_s{};  ///< where the batch is known
  /// Examples/s relative to as many workers that exchange nothing.
  double efficiency = 1;
  std::string busiest_link{};  ///< in use for the largest part of an all-reduce; empty alone
  double busiest_share = 0;    ///< of its capacity, while an all-reduce runs

  /// The same over a whole step: near 1, the link saturates.
  double busiest_share_of_step() const {
    return busiest_share * parts.communication_s / parts.step_s;
  }
};

/// Simulates one count. Deterministic. Throws what `engine` throws, kUsage for a scenario that
/// makes no sense (no bandwidth, no compute).
SimulatedPoint simulate_workers(const Scenario& scenario, std::int64_t workers,
                                const NetworkEngine& engine);

/// Where more workers stop to pay among points of increasing counts: the last count whose step up
/// gave at least half of the gain that its workers could give. None when every step up paid.
struct WorkersThatPay {
  std::int64_t workers = 1;
  std::int64_t next = 1;  ///< that no longer pays
  double next_gain = 1;   ///< examples/s of `next` relative to `workers`
};
std::optional<WorkersThatPay> workers_that_pay(const std::vector<SimulatedPoint>& points);

/// A scenario at several counts.
struct SimulatedScaling {
  Scenario scenario;
  std::vector<SimulatedPoint> points;  ///< by count
  std::optional<WorkersThatPay> pays{};
};
SimulatedScaling simulate_scaling(const Scenario& scenario, const std::vector<std::int64_t>& counts,
                                  const NetworkEngine& engine);

/// Classes of alike workers among so many.
std::vector<WorkerClass> worker_classes(const Scenario& scenario, std::int64_t workers);

}  // namespace lockstep::simulate
