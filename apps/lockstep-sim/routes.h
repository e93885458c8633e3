#pragma once

#include <simgrid/forward.h>

#include <vector>

#include "lockstep/simulate/network/network_request.h"

namespace lockstep::sim {

using Hosts = std::vector<simgrid::s4u::Host*>;

/// The host that a rank runs on.
simgrid::s4u::Host* host_of(const Hosts& hosts, const simulate::Cluster& cluster,
                            std::int64_t rank);

std::vector<simgrid::s4u::Link*> links_between(const simgrid::s4u::Host* from,
                                               const simgrid::s4u::Host* to);

/// The links of a platform file are known only now: the longest latency and the smallest bandwidth
/// of the routes that the all-reduce uses, which decide how long a pipeline takes to fill. Of other
/// topologies as the cluster has it. Throws kData where a host cannot be reached from one that
/// sends to it.
simulate::LinkSpeed slowest_route(const simulate::NetworkRequest& request, const Hosts& hosts);

}  // namespace lockstep::sim
