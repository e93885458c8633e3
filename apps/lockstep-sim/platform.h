#pragma once

#include <simgrid/forward.h>

#include <vector>

#include "lockstep/simulate/network/cluster.h"

namespace lockstep::sim {

/// Settings under which flows share links max-min fairly and a message takes latency + bytes /
/// bandwidth, nothing else. Before the platform is made.
void set_network_model();

/// The hosts of the cluster in order, connected as its topology asks for. Throws kUsage where a
/// topology has no room for them, kData for a platform file that cannot be used.
std::vector<simgrid::s4u::Host*> make_platform(simgrid::s4u::Engine& engine,
                                               const simulate::Cluster& cluster);

}  // namespace lockstep::sim
