#pragma once

#include <simgrid/forward.h>

#include <vector>

#include "flows.h"
#include "lockstep/simulate/network/network_request.h"

namespace lockstep::sim {

/// Times all-reduces message by message: every rank is an actor that goes on to its next round when
/// its own messages of this round are through, whatever the others do. Runs the engine. For up to a
/// few hundred ranks.
std::vector<simulate::NetworkTime> time_messages(const simulate::NetworkRequest& request,
                                                 simgrid::s4u::Engine& engine,
                                                 const std::vector<simgrid::s4u::Host*>& hosts,
                                                 const Progress& progress);

}  // namespace lockstep::sim
