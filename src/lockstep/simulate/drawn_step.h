#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/simulate/simulation.h"

namespace lockstep::simulate {

/// One worker in one drawn step.
struct DrawnRank {
  std::int64_t rank = 0;
  double factor = 1;  ///< its compute time relative to the measured worker
  double wait_s = 0;  ///< until the slowest worker had its last bucket ready
};

/// One step of a simulated count, rank by rank: the first ranks and the slowest.
struct DrawnStep {
  std::vector<DrawnRank> ranks;     ///< by rank
  std::size_t slowest = 0;          ///< index into `ranks`
  double input_s = 0;               ///< waiting for the loader, at the beginning
  double transfer_s = 0;            ///< exposed, the same on all ranks
  std::vector<BucketSpan> buckets;  ///< when the links carried each; empty with local steps
};

/// Each worker's compute time is drawn by the scenario's seed.
DrawnStep draw_step(const Scenario& scenario, const SimulatedPoint& point, std::size_t most_ranks);

}  // namespace lockstep::simulate
