#include <cmath>

#include "lockstep/base/rng.h"
#include "network_simulation.h"

namespace lockstep::simulate {
namespace {

constexpr int kRequests = 20;
constexpr double kRounding = 1 + 1e-6;

double log_uniform(Rng& rng, double low, double high) {
  return low * std::pow(high / low, rng.uniform());
}

/// Any algorithm on any network of up to 32 hosts, in any proportion of latency and transfer.
NetworkRequest random_request(std::uint64_t seed) {
  Rng rng(seed, 0xf10e);
  const char* topologies[] = {"star", "fat-tree:2", "fat-tree:3", "torus", "dragonfly"};
  NetworkRequest request = request_of(2, 1, topologies[rng.below(5)]);
  request.algorithm = kAllAlgorithms[rng.below(5)];
  Cluster& cluster = request.cluster;
  cluster.per_host = static_cast<std::int64_t>(1 + rng.below(4));
  cluster.workers = cluster.per_host + 1 + static_cast<std::int64_t>(rng.below(28));
  cluster.link = {log_uniform(rng, 1e-6, 1e-3), log_uniform(rng, 1e7, 1e11)};
  cluster.inside = {log_uniform(rng, 1e-7, 1e-5), log_uniform(rng, 1e9, 1e12)};
  if (cluster.topology.kind == TopologyKind::kFatTree) {
    cluster.topology.hosts_per_switch = static_cast<int>(2 + rng.below(6));
    cluster.topology.uplinks = static_cast<int>(rng.below(4));
  }
  if (rng.below(3) == 0) cluster.background = 0.5 * rng.uniform();
  request.bytes = {std::ceil(log_uniform(rng, 1e3, 1e9))};
  return request;
}

/// Bytes that leave the busiest group of so many consecutive hosts.
double most_leaving(const NetworkRequest& request, std::int64_t hosts_together) {
  const Cluster& cluster = request.cluster;
  double most = 0;
  for (std::int64_t first = 0; first < cluster.hosts(); first += hosts_together) {
    double leaving = 0;
    const auto here = [&](std::int64_t rank) {
      const std::int64_t host = cluster.host_of(rank);
      return host >= first && host < first + hosts_together;
    };
    for (const Round& round :
         all_reduce_schedule(request.algorithm, request.bytes.front(), cluster)) {
      for (const Flow& flow : round.flows) {
        if (here(flow.from) && !here(flow.to)) {
          leaving += static_cast<double>(round.repeat) * flow.bytes;
        }
      }
    }
    most = std::max(most, leaving);
  }
  return most;
}

/// Calls expect(request, simulated) for many requests.
template <typename Expect>
void for_many(Expect expect) {
  for (std::uint64_t seed = 0; seed < kRequests; ++seed) {
    const NetworkRequest request = random_request(seed);
    SCOPED_TRACE(nlohmann::json(request).dump());
    expect(request, simulated(request));
  }
}

TEST(NetworkProperties, NoLinkCarriesMoreThanItsBandwidth) {
  for_many([](const NetworkRequest& request, const NetworkTime& time) {
    EXPECT_GT(time.busiest_share, 0);
    EXPECT_LE(time.busiest_share, kRounding);
    const Cluster& cluster = request.cluster;
    const Topology& topology = cluster.topology;
    // A host of a torus has a link to each neighbour, in up to three dimensions.
    const double of_host = topology.kind == TopologyKind::kTorus ? 6 : 1;
    EXPECT_GE(time.seconds * kRounding,
              most_leaving(request, 1) / (of_host * cluster.link.bytes_per_s));
    if (topology.kind != TopologyKind::kFatTree) return;
    const double uplinks = topology.uplinks > 0 ? topology.uplinks : topology.hosts_per_switch;
    EXPECT_GE(time.seconds * kRounding, most_leaving(request, topology.hosts_per_switch) /
                                            (uplinks * cluster.link.bytes_per_s));
  });
}

// Flows begin one after the other, on links whose speeds differ because of the traffic of others.
TEST(NetworkProperties, FlowsThatBeginLaterSlowDownThoseThatAreUnderWay) {
  NetworkRequest request = request_of(8, 1, "fat-tree:2");
  request.cluster.topology.hosts_per_switch = 4;
  request.cluster.topology.uplinks = 2;
  request.cluster.background = 0.4;
  request.algorithm = Algorithm::kTree;
  const double share = simulated(request).busiest_share;
  EXPECT_LE(share, kRounding);
  EXPECT_GE(share, 0.97) << "what is not latency";
}

TEST(NetworkProperties, EveryRoundTakesALatencyAtLeast) {
  for_many([](const NetworkRequest& request, const NetworkTime& time) {
    double rounds = 0;
    for (const Round& round :
         all_reduce_schedule(request.algorithm, request.bytes.front(), request.cluster)) {
      const bool leaves =
          std::any_of(round.flows.begin(), round.flows.end(),
                      [&](const Flow& flow) { return between_hosts(flow, request.cluster); });
      if (leaves) rounds += static_cast<double>(round.repeat + round.fill_network);
    }
    EXPECT_GE(time.seconds * kRounding, rounds * request.cluster.link.latency_s);
  });
}

// Twice the latencies at half the bandwidths: everything takes twice as long. Halves would be
// enough for neither alone.
TEST(NetworkProperties, SlowerLinksTakeInProportionLonger) {
  for_many([](const NetworkRequest& request, const NetworkTime& time) {
    NetworkRequest slow = request;
    NetworkRequest late = request;
    NetworkRequest narrow = request;
    for (const auto link : {&Cluster::link, &Cluster::inside}) {
      (late.cluster.*link).latency_s *= 2;
      (narrow.cluster.*link).bytes_per_s /= 2;
      (slow.cluster.*link) = {2 * (request.cluster.*link).latency_s,
                              (request.cluster.*link).bytes_per_s / 2};
    }
    EXPECT_NEAR(simulated_s(slow) / time.seconds, 2, 1e-5);
    for (const double one : {simulated_s(late), simulated_s(narrow)}) {
      EXPECT_GE(one * kRounding, time.seconds);
      EXPECT_LE(one, 2 * time.seconds * kRounding);
    }
  });
}

TEST(NetworkProperties, MoreBytesAndMoreTrafficOfOthersTakeLonger) {
  for_many([](const NetworkRequest& request, const NetworkTime& time) {
    NetworkRequest more = request;
    more.bytes.front() *= 2;
    const double twice = simulated_s(more);
    EXPECT_GE(twice * kRounding, time.seconds);
    EXPECT_LE(twice, 2 * time.seconds * kRounding);
    NetworkRequest busier = request;
    busier.cluster.background = 0.5 + request.cluster.background / 2;
    EXPECT_GE(simulated_s(busier) * kRounding, time.seconds);
  });
}

TEST(NetworkProperties, RoundsTakeAsLongAsTheirMessages) {
  for_many([](NetworkRequest request, const NetworkTime& time) {
    request.messages = true;
    // Ranks that are through early begin the next round early, at most.
    EXPECT_LE(simulated_s(request), time.seconds * kRounding);
  });
}

}  // namespace
}  // namespace lockstep::simulate
