#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/host_groups.h"

namespace lockstep::comm {

/// All-reduce in three steps where ranks share hosts: the ranks of a host add up in shared memory,
/// one rank of each host, its leader, adds up with the other leaders over the network, and hands
/// the result to its neighbours. With L ranks on each of H hosts a host sends 2(H-1)/H S bytes
/// instead of L times 2(N-L)/N S. The leader's sums over the network go on while the others
/// compute.
///
/// `local` joins the ranks of this host in ascending order; `across` the leaders of all hosts, and
/// is empty on ranks that do not lead and with one host. Collective over all ranks.
std::unique_ptr<Communicator> make_hierarchical(int rank, HostGroups hosts,
                                                std::unique_ptr<Communicator> local,
                                                std::unique_ptr<Communicator> across);

}  // namespace lockstep::comm
