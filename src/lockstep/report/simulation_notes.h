#pragma once

#include <string>

#include "lockstep/report/simulation_tables.h"

namespace lockstep::report {

/// Whether any network of it was simulated, not counted.
bool any_flows(const simulate::SimulatedScaling& scaling);

/// Up to which count more workers pay; "" for a single count.
std::string pays_note(const simulate::SimulatedScaling& scaling);

/// What was assumed: step, network, jitter, intervals, and the busiest link.
void add_simulation_notes(Table& table, const simulate::SimulatedScaling& scaling,
                          const SimulationSource& source);

}  // namespace lockstep::report
