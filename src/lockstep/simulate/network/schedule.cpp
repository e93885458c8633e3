#include "lockstep/simulate/network/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

/// A pipelined tree sends its data in pieces of this size.
constexpr double kPieceBytes = 128 * 1024;

double part(double bytes, double parts) {
  return std::ceil(bytes / parts);
}

std::vector<Round> ring(double bytes, const Cluster& cluster) {
  const std::int64_t n = cluster.workers;
  Round round;
  round.repeat = 2 * (n - 1);
  for (std::int64_t rank = 0; rank < n; ++rank) {
    round.flows.push_back({rank, (rank + 1) % n, part(bytes, static_cast<double>(n))});
  }
  return {round};
}

/// Workers beyond the last power of two hand their data to a partner first and get the sum last.
std::vector<Round> halving_doubling(double bytes, const Cluster& cluster) {
  const std::int64_t n = cluster.workers;
  const auto core = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  std::vector<Round> rounds;
  Round hand_over;
  Round hand_back;
  for (std::int64_t rank = core; rank < n; ++rank) {
    hand_over.flows.push_back({rank, rank - core, bytes});
    hand_back.flows.push_back({rank - core, rank, bytes});
  }
  if (core < n) rounds.push_back(hand_over);
  double size = bytes;
  for (std::int64_t distance = 1; distance < core; distance *= 2) {
    size = part(size, 2);
    Round round;
    round.repeat = 2;  // once while summing up, once while spreading the sums
    for (std::int64_t rank = 0; rank < core; ++rank) {
      round.flows.push_back({rank, rank ^ distance, size});
    }
    rounds.push_back(round);
  }
  if (core < n) rounds.push_back(hand_back);
  return rounds;
}

void add_inside_ring(std::vector<Round>& rounds, double bytes, const Cluster& cluster) {
  Round round;
  for (std::int64_t host = 0; host < cluster.hosts(); ++host) {
    const std::int64_t first = host * cluster.per_host;
    const std::int64_t count = std::min(cluster.per_host, cluster.workers - first);
    if (count < 2) continue;
    for (std::int64_t i = 0; i < count; ++i) {
      round.flows.push_back(
          {first + i, first + (i + 1) % count, part(bytes, static_cast<double>(count))});
    }
    round.repeat = std::max(round.repeat, count - 1);
  }
  if (!round.flows.empty()) rounds.push_back(round);
}

/// Each worker sums up its share of the host's data, exchanges it with the same worker of the other
/// hosts and spreads the result in the host. A last host with fewer workers takes part with those.
std::vector<Round> hierarchical(double bytes, const Cluster& cluster) {
  std::vector<Round> rounds;
  add_inside_ring(rounds, bytes, cluster);
  const std::int64_t hosts = cluster.hosts();
  const std::int64_t shares = std::min(cluster.per_host, cluster.workers);
  if (hosts > 1) {
    Round round;
    round.repeat = 2 * (hosts - 1);
    const double size = part(bytes, static_cast<double>(shares) * static_cast<double>(hosts));
    for (std::int64_t host = 0; host < hosts; ++host) {
      const std::int64_t next = (host + 1) % hosts;
      for (std::int64_t share = 0; share < shares; ++share) {
        const std::int64_t from = host * cluster.per_host + share;
        const std::int64_t to = next * cluster.per_host + share;
        round.flows.push_back(
            {std::min(from, cluster.workers - 1), std::min(to, cluster.workers - 1), size});
      }
    }
    rounds.push_back(round);
  }
  add_inside_ring(rounds, bytes, cluster);
  return rounds;
}

std::vector<Round> central(double bytes, const Cluster& cluster) {
  Round gather;
  Round spread;
  for (std::int64_t rank = 1; rank < cluster.workers; ++rank) {
    gather.flows.push_back({rank, 0, bytes});
    spread.flows.push_back({0, rank, bytes});
  }
  return {gather, spread};
}

/// Parent of a host other than 0 in a binary tree in which every odd host is a leaf.
std::int64_t tree_parent(std::int64_t host, std::int64_t hosts) {
  const std::int64_t lowest = host & -host;
  const std::int64_t parent = (host ^ lowest) | (lowest << 1);
  return parent < hosts ? parent : host ^ lowest;
}

std::int64_t tree_depth(std::int64_t hosts) {
  std::int64_t deepest = 0;
  for (std::int64_t host = 1; host < hosts; ++host) {
    std::int64_t depth = 0;
    for (std::int64_t at = host; at != 0; at = tree_parent(at, hosts)) ++depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

/// Half of the data goes up and down one tree, half another one in which leaves and inner hosts
/// have changed places, so that every host carries about as much.
void add_tree_flows(Round& round, double bytes, const Cluster& cluster) {
  const std::int64_t hosts = cluster.hosts();
  const auto leader = [&](std::int64_t host) { return host * cluster.per_host; };
  for (std::int64_t host = 1; host < hosts; ++host) {
    const std::int64_t parent = tree_parent(host, hosts);
    const auto other = [&](std::int64_t at) {
      return hosts % 2 == 0 ? hosts - 1 - at : (at + 1) % hosts;
    };
    const double half = part(bytes, 2);
    round.flows.push_back({leader(host), leader(parent), half});
    round.flows.push_back({leader(parent), leader(host), half});
    round.flows.push_back({leader(other(host)), leader(other(parent)), half});
    round.flows.push_back({leader(other(parent)), leader(other(host)), half});
  }
}

std::vector<Round> tree(double bytes, const Cluster& cluster) {
  Round round;
  round.piece_bytes = std::min(kPieceBytes, bytes);
  const std::int64_t hosts = cluster.hosts();
  const std::int64_t most = std::min(cluster.per_host, cluster.workers);
  for (std::int64_t rank = 0; rank + 1 < cluster.workers; ++rank) {
    if (cluster.host_of(rank) != cluster.host_of(rank + 1)) continue;
    round.flows.push_back({rank + 1, rank, bytes});
    round.flows.push_back({rank, rank + 1, bytes});
  }
  if (hosts > 1) add_tree_flows(round, bytes, cluster);
  // One hop is in the flows themselves.
  round.fill_inside = 2 * (most - 1);
  round.fill_network = hosts > 1 ? 2 * tree_depth(hosts) - 1 : 0;
  if (hosts == 1) round.fill_inside -= 1;
  return {round};
}

/// Bytes of the busiest worker inside its host, one way.
double inside_round_bytes(const Round& round, const Cluster& cluster) {
  std::vector<double> sent(static_cast<std::size_t>(cluster.workers));
  std::vector<double> received(sent.size());
  double most = 0;
  for (const Flow& flow : round.flows) {
    if (between_hosts(flow, cluster)) continue;
    most = std::max(most, sent[static_cast<std::size_t>(flow.from)] += flow.bytes);
    most = std::max(most, received[static_cast<std::size_t>(flow.to)] += flow.bytes);
  }
  return most;
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kHalvingDoubling:
      return "halving-doubling";
    case Algorithm::kHierarchical:
      return "hierarchical";
    case Algorithm::kCentral:
      return "central";
  }
  return "";
}

Algorithm algorithm_from_name(std::string_view name) {
  for (const Algorithm algorithm : kAllAlgorithms) {
    if (name == algorithm_name(algorithm)) return algorithm;
  }
  throw Error(ErrorKind::kUsage, fmt::format("--algorithm '{}' is not an algorithm", name),
              "known: auto, ring, tree, halving-doubling, hierarchical, central");
}

std::vector<Round> all_reduce_schedule(Algorithm algorithm, double bytes, const Cluster& cluster) {
  if (cluster.workers < 2 || !(bytes > 0)) return {};
  switch (algorithm) {
    case Algorithm::kRing:
      return ring(bytes, cluster);
    case Algorithm::kTree:
      return tree(bytes, cluster);
    case Algorithm::kHalvingDoubling:
      return halving_doubling(bytes, cluster);
    case Algorithm::kHierarchical:
      return hierarchical(bytes, cluster);
    case Algorithm::kCentral:
      return central(bytes, cluster);
  }
  return {};
}

double inside_round_s(const Round& round, const Cluster& cluster) {
  const double bytes = inside_round_bytes(round, cluster);
  return bytes > 0 ? cluster.inside.seconds(bytes) : 0;
}

double fill_s(const Round& round, const Cluster& cluster) {
  return static_cast<double>(round.fill_inside) * cluster.inside.seconds(round.piece_bytes) +
         static_cast<double>(round.fill_network) * cluster.link.seconds(round.piece_bytes);
}

CountedTime count_nonblocking(const std::vector<Round>& schedule, const Cluster& cluster) {
  CountedTime total;
  for (const Round& round : schedule) {
    std::vector<double> sent(static_cast<std::size_t>(cluster.hosts()));
    std::vector<double> received(sent.size());
    double most = 0;
    for (const Flow& flow : round.flows) {
      if (!between_hosts(flow, cluster)) continue;
      const auto from = static_cast<std::size_t>(cluster.host_of(flow.from));
      const auto to = static_cast<std::size_t>(cluster.host_of(flow.to));
      most = std::max(most, sent[from] += flow.bytes);
      most = std::max(most, received[to] += flow.bytes);
    }
    const double network = most > 0 ? cluster.link.seconds(most) : 0;
    const double most_inside = inside_round_bytes(round, cluster);
    const double inside = most_inside > 0 ? cluster.inside.seconds(most_inside) : 0;
    const auto times = static_cast<double>(round.repeat);
    total.seconds += times * std::max(network, inside) + fill_s(round, cluster);
    total.network_s += times * cluster.link.transfer_s(most);
    total.inside_s += times * cluster.inside.transfer_s(most_inside);
  }
  return total;
}

}  // namespace lockstep::simulate
