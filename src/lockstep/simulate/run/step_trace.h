#pragma once

#include <string>

#include "lockstep/simulate/simulation.h"

namespace lockstep::simulate {

/// Writes one simulated step as a Chrome trace: the first ranks and the slowest, and the moments at
/// which their buckets are ready. Throws kData when the file cannot be written.
void write_step_trace(const std::string& path, const Scenario& scenario,
                      const SimulatedPoint& point);

}  // namespace lockstep::simulate
