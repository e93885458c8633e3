#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/simulate/network/cluster.h"

namespace lockstep::simulate {

/// How an all-reduce moves its bytes. docs/guide/simulate.md has steps and bytes of each.
enum class Algorithm {
  kRing,             ///< around all workers in order of rank
  kTree,             ///< two binary trees over the hosts, in pieces; a chain inside each host
  kHalvingDoubling,  ///< exchanges with the worker 1, 2, 4, ... ranks away
  kHierarchical,     ///< ring inside each host, rings between hosts for a share each
  kCentral,          ///< all send to rank 0, which sends the sum back
};

inline constexpr Algorithm kAllAlgorithms[] = {Algorithm::kRing, Algorithm::kTree,
                                               Algorithm::kHalvingDoubling,
                                               Algorithm::kHierarchical, Algorithm::kCentral};

/// "ring", "tree", "halving-doubling", "hierarchical", "central".
std::string_view algorithm_name(Algorithm algorithm);
/// Throws kUsage for other names.
Algorithm algorithm_from_name(std::string_view name);

/// Bytes from one rank to another.
struct Flow {
  std::int64_t from = 0;
  std::int64_t to = 0;
  double bytes = 0;
};

/// Whether it leaves its host.
inline bool between_hosts(const Flow& flow, const Cluster& cluster) {
  return cluster.host_of(flow.from) != cluster.host_of(flow.to);
}

/// Flows that go on at the same time, `repeat` times one after the other. A pipelined round carries
/// all its pieces at once, and in addition the first piece takes `fill_inside` and `fill_network`
/// hops to come through.
struct Round {
  std::vector<Flow> flows;
  std::int64_t repeat = 1;
  std::int64_t fill_inside = 0;
  std::int64_t fill_network = 0;
  double piece_bytes = 0;  ///< of a pipelined round
};

/// The rounds of an all-reduce of `bytes`, each flow in whole bytes. Empty for one worker.
std::vector<Round> all_reduce_schedule(Algorithm algorithm, double bytes, const Cluster& cluster);

/// Time of a round's flows inside hosts, once: the busiest worker's link decides. 0 without any.
double inside_round_s(const Round& round, const Cluster& cluster);
/// Time until the first piece of a pipelined round has come through, beyond the flows' own latency.
double fill_s(const Round& round, const Cluster& cluster);

/// A schedule whose time can be counted.
struct CountedTime {
  double seconds = 0;
  double network_s = 0;  ///< for so long data is on the busiest link of a host to the network
  double inside_s = 0;   ///< and on the busiest link inside a host
};

/// The whole schedule where only the hosts' own links are shared (Cluster::nonblocking). Exact:
/// rounds consist of flows of one size between hosts, so under max-min sharing the busiest link is
/// in use from the first byte to the last.
CountedTime count_nonblocking(const std::vector<Round>& schedule, const Cluster& cluster);

}  // namespace lockstep::simulate
