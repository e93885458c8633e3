#pragma once

#include <string>

#include "lockstep/simulate/simulation.h"

namespace lockstep::cli {

/// Writes one simulated step as a Chrome trace: the first ranks and the slowest, each with its own
/// compute time drawn by the scenario's seed, and the moments at which buckets are ready. Throws
/// kData when the file cannot be written.
void write_simulated_trace(const std::string& path, const simulate::Scenario& scenario,
                           const simulate::SimulatedPoint& point);

}  // namespace lockstep::cli
