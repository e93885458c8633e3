#include <algorithm>

#include "network_simulation.h"

namespace lockstep::simulate {
namespace {

// Eight hosts. S = 64 MiB divides by all counts below, so that no flow is rounded up.
constexpr double kBytes = 1 << 26;
constexpr double kLatency = 20e-6;
constexpr double kBandwidth = 1.25e9;

/// Rounds one after the other: each takes the latency of its longest route and the transfer of what
/// its busiest link carries.
struct Rounds {
  double count;
  double latencies;  ///< in those of `Cluster::link`
  double load;       ///< of the busiest link, in S
};

double closed_s(const std::vector<Rounds>& all) {
  double sum = 0;
  for (const Rounds& one : all) {
    sum += one.count * (one.latencies * kLatency + one.load * kBytes / kBandwidth);
  }
  return sum;
}

void expect_closed(const char* topology, Algorithm algorithm, const std::vector<Rounds>& rounds) {
  NetworkRequest request = request_of(8, 1, topology);
  if (request.cluster.topology.kind == TopologyKind::kFatTree) {
    request.cluster.topology.hosts_per_switch = 2;
  }
  request.algorithm = algorithm;
  EXPECT_NEAR(simulated_s(request) / closed_s(rounds), 1, 1e-6)
      << topology << " " << algorithm_name(algorithm);
}

// Two hosts per switch, as many uplinks: nothing is shared, but most routes have two more links,
// each with half of the latency between two hosts of one switch.
TEST(ClosedForms, OfAFatTreeThatDoesNotBlock) {
  expect_closed("fat-tree:2", Algorithm::kRing, {{14, 2, 1.0 / 8}});
  expect_closed("fat-tree:2", Algorithm::kHierarchical, {{14, 2, 1.0 / 8}});
  expect_closed("fat-tree:2", Algorithm::kHalvingDoubling,
                {{2, 1, 1.0 / 2}, {2, 2, 1.0 / 4}, {2, 2, 1.0 / 8}});
  // Data of the host behind the same switch arrives first, and from then on the link is in use.
  expect_closed("fat-tree:2", Algorithm::kCentral, {{2, 1, 7}});
}

// 14 rounds, most of them between switches: the longer of two latencies and S/8.
TEST(ClosedForms, OfAFatTreeWhoseLinksHideLatency) {
  NetworkRequest request = request_of(8, 1, "fat-tree:2");
  request.cluster.topology.hosts_per_switch = 2;
  request.cluster.link.hides_latency = true;
  for (const double bytes : {8e3, 8e5}) {
    request.bytes = {bytes};
    const double closed = 14 * std::max(2 * kLatency, bytes / 8 / kBandwidth);
    EXPECT_NEAR(simulated_s(request) / closed, 1, 1e-6) << bytes;
  }
}

// Four hosts at each of two routers, which one link connects.
TEST(ClosedForms, OfADragonflyOfTwoRouters) {
  expect_closed("dragonfly", Algorithm::kRing, {{14, 1.5, 1.0 / 8}});
  expect_closed("dragonfly", Algorithm::kHierarchical, {{14, 1.5, 1.0 / 8}});
  expect_closed("dragonfly", Algorithm::kHalvingDoubling,
                {{2, 1, 1.0 / 2}, {2, 1, 1.0 / 4}, {2, 1.5, 4.0 / 8}});
  expect_closed("dragonfly", Algorithm::kCentral, {{2, 1, 7}});
}

// Hosts in a circle: a message over a distance of four passes four links, each of which then
// carries four messages. Rank 0 has two links, one of which brings the data of four hosts.
TEST(ClosedForms, OfATorusOfOneDimension) {
  expect_closed("torus:8", Algorithm::kRing, {{14, 1, 1.0 / 8}});
  expect_closed("torus:8", Algorithm::kHierarchical, {{14, 1, 1.0 / 8}});
  expect_closed("torus:8", Algorithm::kHalvingDoubling,
                {{2, 1, 1.0 / 2}, {2, 2, 2.0 / 4}, {2, 4, 4.0 / 8}});
  expect_closed("torus:8", Algorithm::kCentral, {{2, 1, 4}});
}

// Two workers on each of four hosts of a 2 x 2 torus: shares of a quarter are exchanged in rings
// that need no host twice, two flows on each link.
TEST(ClosedForms, OfHierarchicalOnATorus) {
  NetworkRequest request = request_of(8, 2, "torus:2x2");
  request.algorithm = Algorithm::kHierarchical;
  const double inside = 3e-6 + kBytes / 2 / 50e9;
  // From host 1 to host 2 and from 3 to 0 both dimensions are crossed.
  EXPECT_NEAR(simulated_s(request) / (2 * inside + closed_s({{6, 2, 1.0 / 4}})), 1, 1e-6);
}

}  // namespace
}  // namespace lockstep::simulate
