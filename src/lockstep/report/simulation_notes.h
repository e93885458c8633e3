#pragma once

#include <span>
#include <string>

#include "lockstep/report/simulation_tables.h"

namespace lockstep::report {

/// Whether any network of it was simulated, not counted.
bool any_flows(const simulate::SimulatedScaling& scaling);

/// Up to which count more workers pay; "" for a single count.
std::string pays_note(const simulate::SimulatedScaling& scaling);

/// The link that saturates, or the one that would first; "" where nothing is exchanged.
std::string busiest_note(const simulate::SimulatedPoint& point);

/// That the run itself took another time than simulated for its count; "" where that is not known.
std::string measured_note(const simulate::SimulatedScaling& scaling,
                          const SimulationSource& source);

/// What was assumed: step, network, jitter, intervals, and the busiest link.
void add_simulation_notes(Table& table, const simulate::SimulatedScaling& scaling,
                          const SimulationSource& source);

/// How the networks of all of them were timed.
std::string method_note(std::span<const simulate::SimulatedScaling> all);

}  // namespace lockstep::report
