#pragma once

#include <algorithm>
#include <cstdint>

#include "lockstep/simulate/network/topology.h"

namespace lockstep::simulate {

/// Latency of a message and bandwidth in each direction.
struct LinkSpeed {
  double latency_s = 0;
  double bytes_per_s = 0;
  /// Messages travel in pieces: the latency of one passes while another is transferred.
  bool hides_latency = false;

  double transfer_s(double bytes) const { return bytes / bytes_per_s; }
  double seconds(double bytes) const {
    return hides_latency ? std::max(latency_s, transfer_s(bytes)) : latency_s + transfer_s(bytes);
  }
  bool operator==(const LinkSpeed&) const = default;
};

/// Workers on hosts, and what connects them. Ranks fill one host after the other.
struct Cluster {
  std::int64_t workers = 1;
  std::int64_t per_host = 1;
  LinkSpeed inside{2e-6, 300e9};  ///< of each worker to the others of its host, free of the others
  /// Of a host to the network, shared by its workers. The latency is that between two hosts of one
  /// switch.
  LinkSpeed link{2e-6, 25e9};
  Topology topology;
  /// Share of its link on which each host sends to another one all the time, for somebody else.
  double background = 0;
  std::uint64_t seed = 1;  ///< of the pairs that the background traffic connects

  std::int64_t hosts() const { return (workers + per_host - 1) / per_host; }
  std::int64_t host_of(std::int64_t rank) const { return rank / per_host; }
  /// Nothing but the hosts' own links is shared: rounds take what can be counted, exactly.
  bool nonblocking() const {
    return hosts() == 1 || (topology.kind == TopologyKind::kStar && background == 0);
  }
  bool operator==(const Cluster&) const = default;
};

}  // namespace lockstep::simulate
