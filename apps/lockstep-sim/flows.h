#pragma once

#include <simgrid/forward.h>

#include <functional>
#include <vector>

#include "lockstep/simulate/network/network_request.h"

namespace lockstep::sim {

using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// Times all-reduces round by round: the flows of a round start together and share the links
/// max-min fairly, and a round that repeats is simulated once. To be called from an actor.
std::vector<simulate::NetworkTime> time_rounds(const simulate::NetworkRequest& request,
                                               const std::vector<simgrid::s4u::Host*>& hosts,
                                               const Progress& progress);

}  // namespace lockstep::sim
