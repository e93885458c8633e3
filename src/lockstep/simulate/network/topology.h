#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::simulate {

/// How the hosts of a cluster are connected. Every link has the speed of the hosts' own links.
enum class TopologyKind {
  kStar,       ///< one switch that never blocks: only the hosts' own links are shared
  kFatTree,    ///< switches in two or three levels; few uplinks make it oversubscribed
  kTorus,      ///< each host connected to its neighbours in every dimension
  kDragonfly,  ///< groups of routers, all groups connected with each other
  kPlatform,   ///< a platform file of SimGrid
};

struct Topology {
  TopologyKind kind = TopologyKind::kStar;
  int levels = 2;             ///< of a fat tree
  int hosts_per_switch = 16;  ///< of a fat tree's lowest switches; in a dragonfly, per router
  int uplinks = 0;            ///< of each switch of a fat tree; 0 = as many as links downwards
  std::vector<std::int64_t> dimensions{};  ///< of a torus; empty = as near to a cube as possible
  std::string path{};                      ///< of a platform file

  bool operator==(const Topology&) const = default;
};

/// "star", "fat-tree", "fat-tree:3" (levels), "torus", "torus:4x4x2", "dragonfly", or the path of
/// an .xml file. Throws kUsage otherwise.
Topology parse_topology(const std::string& text);

/// The inverse of parse_topology.
std::string topology_name(const Topology& topology);

/// Dimensions of a torus for so many hosts: those asked for, else three factors as equal as
/// possible. Throws kUsage when there is no room for the hosts.
std::vector<std::int64_t> torus_dimensions(const Topology& topology, std::int64_t hosts);

/// Groups of a dragonfly for so many hosts, and routers in each: as many in a group as there are
/// groups at most, since each group is connected with another one through a router of its own.
struct DragonflySize {
  std::int64_t groups = 1;
  std::int64_t routers = 1;
};
DragonflySize dragonfly_size(const Topology& topology, std::int64_t hosts);

/// Throws kUsage for a network of more links than can be simulated.
void check_network_size(const Topology& topology, std::int64_t hosts);

}  // namespace lockstep::simulate
