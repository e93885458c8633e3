#pragma once

#include "lockstep/base/clock.h"
#include "lockstep/simulate/simulation.h"

namespace lockstep::simulate {

/// Asks lockstep-sim, one process per request: beside this program, else in PATH, else where
/// LOCKSTEP_SIM_PROGRAM points. The status line of the terminal shows how far it is. Throws
/// kEnvironment where it was not built, and its own errors.
NetworkEngine network_simulator(const Clock& clock);

}  // namespace lockstep::simulate
