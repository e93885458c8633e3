#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/rendezvous/host_groups.h"

namespace lockstep::comm {

/// All-reduce in three steps where several ranks share a host: the ranks of a host sum in shared
/// memory, the leader (lowest rank) of each host sums with the other leaders over the network, and
/// passes the result on to its neighbours. With L ranks on each of H hosts, a host sends
/// 2(H-1)/H S bytes instead of L times 2(N-L)/N S. The sums between leaders proceed while the other
/// ranks compute.
///
/// `local` joins the ranks of this host in ascending order. `across` joins the leaders of all
/// hosts; ranks that do not lead only keep it, and may have none. Collective over all ranks.
std::unique_ptr<Communicator> make_hierarchical(int rank, HostGroups hosts,
                                                std::unique_ptr<Communicator> local,
                                                std::unique_ptr<Communicator> across);

}  // namespace lockstep::comm
