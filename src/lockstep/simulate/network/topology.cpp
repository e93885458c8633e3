#include "lockstep/simulate/network/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

constexpr std::int64_t kMostInDimension = 1'000'000;
/// Of a simulated network. With so many, lockstep-sim needs less than 2 GB.
constexpr double kMostLinks = 250'000;

[[noreturn]] void refuse_topology(const std::string& text) {
  throw Error(ErrorKind::kUsage, fmt::format("--topology '{}' is not a topology", text),
              "give star, fat-tree:2, torus:8x8x8, dragonfly or the path of a SimGrid .xml file");
}

std::int64_t whole_number(const std::string& text, const std::string& all) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 1 ||
      value > kMostInDimension) {
    refuse_topology(all);
  }
  return value;
}

std::vector<std::int64_t> parse_dimensions(const std::string& text, const std::string& all) {
  std::vector<std::int64_t> dimensions;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    dimensions.push_back(whole_number(text.substr(begin, end - begin), all));
    begin = end + 1;
  }
  return dimensions;
}

double torus_hosts(const std::vector<std::int64_t>& dimensions) {
  double hosts = 1;
  for (const std::int64_t dimension : dimensions) hosts *= static_cast<double>(dimension);
  return hosts;
}

double fat_tree_links(const Topology& topology, double hosts) {
  const double down = topology.hosts_per_switch;
  const double up = topology.uplinks > 0 ? topology.uplinks : down;
  const double switches = std::ceil(hosts / down);
  const double in_two_levels = hosts + switches * up;
  return topology.levels == 2 ? in_two_levels
                              : in_two_levels + up * std::ceil(switches / down) * up;
}

/// Of a network for so many hosts, in one direction.
double link_count(const Topology& topology, std::int64_t hosts) {
  const auto count = static_cast<double>(hosts);
  switch (topology.kind) {
    case TopologyKind::kStar:
      return count;
    case TopologyKind::kFatTree:
      return fat_tree_links(topology, count);
    case TopologyKind::kTorus: {
      const auto dimensions = torus_dimensions(topology, hosts);
      return torus_hosts(dimensions) * static_cast<double>(dimensions.size());
    }
    case TopologyKind::kDragonfly: {
      const DragonflySize size = dragonfly_size(topology, hosts);
      const auto groups = static_cast<double>(size.groups);
      const auto routers = static_cast<double>(size.routers);
      return count + groups * routers * (routers - 1) / 2 + groups * (groups - 1) / 2;
    }
    case TopologyKind::kPlatform:
      break;  // its file has them, which the simulator reads
  }
  return 0;
}

std::int64_t largest_factor_up_to(std::int64_t number, std::int64_t limit) {
  while (number % limit != 0) --limit;
  return limit;
}

}  // namespace

Topology parse_topology(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const bool detailed = colon != std::string::npos;
  const std::string detail = detailed ? text.substr(colon + 1) : "";
  Topology topology;
  if (text.ends_with(".xml")) {
    topology.kind = TopologyKind::kPlatform;
    topology.path = text;
  } else if (name == "star" && !detailed) {
    topology.kind = TopologyKind::kStar;
  } else if (name == "fat-tree") {
    topology.kind = TopologyKind::kFatTree;
    if (detailed) topology.levels = static_cast<int>(whole_number(detail, text));
    if (topology.levels < 2 || topology.levels > 3) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--topology '{}': a fat tree has 2 or 3 levels", text),
                  "the number after fat-tree: is the number of switch levels");
    }
  } else if (name == "torus") {
    topology.kind = TopologyKind::kTorus;
    if (detailed) topology.dimensions = parse_dimensions(detail, text);
  } else if (name == "dragonfly" && !detailed) {
    topology.kind = TopologyKind::kDragonfly;
    topology.hosts_per_switch = 4;
  } else {
    refuse_topology(text);
  }
  return topology;
}

std::string topology_name(const Topology& topology) {
  switch (topology.kind) {
    case TopologyKind::kStar:
      return "star";
    case TopologyKind::kFatTree:
      return fmt::format("fat-tree:{}", topology.levels);
    case TopologyKind::kTorus:
      return topology.dimensions.empty()
                 ? "torus"
                 : fmt::format("torus:{}", fmt::join(topology.dimensions, "x"));
    case TopologyKind::kDragonfly:
      return "dragonfly";
    case TopologyKind::kPlatform:
      return topology.path;
  }
  return "";
}

std::vector<std::int64_t> torus_dimensions(const Topology& topology, std::int64_t hosts) {
  if (topology.dimensions.empty()) {
    const auto cube = static_cast<std::int64_t>(std::cbrt(static_cast<double>(hosts)) + 1e-9);
    const std::int64_t first = largest_factor_up_to(hosts, std::max<std::int64_t>(cube, 1));
    const std::int64_t rest = hosts / first;
    const auto square = static_cast<std::int64_t>(std::sqrt(static_cast<double>(rest)) + 1e-9);
    const std::int64_t second = largest_factor_up_to(rest, std::max<std::int64_t>(square, 1));
    return {first, second, rest / second};
  }
  if (torus_hosts(topology.dimensions) < static_cast<double>(hosts)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} has {:.0f} hosts; {} are needed", topology_name(topology),
                            torus_hosts(topology.dimensions), hosts),
                "give larger dimensions, fewer --workers or more --per-host");
  }
  return topology.dimensions;
}

DragonflySize dragonfly_size(const Topology& topology, std::int64_t hosts) {
  const std::int64_t nodes = topology.hosts_per_switch;
  const std::int64_t all = (hosts + nodes - 1) / nodes;
  const auto square = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(all))));
  DragonflySize size;
  size.routers = std::max<std::int64_t>(square, 2);
  size.groups = std::max<std::int64_t>((all + size.routers - 1) / size.routers, 1);
  return size;
}

void check_network_size(const Topology& topology, std::int64_t hosts) {
  const double links = link_count(topology, hosts);
  if (links <= kMostLinks) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format(
          "--topology {} for {} hosts has {:.4g} thousand links, more than the {:g} thousand "
          "that can be simulated",
          topology_name(topology), hosts, links / 1e3, kMostLinks / 1e3),
      "give fewer --workers, more --per-host, or --topology star, which needs no simulation");
}

}  // namespace lockstep::simulate
