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
                  "the number after fat-tree: counts the levels of switches");
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
  std::int64_t room = 1;
  for (const std::int64_t dimension : topology.dimensions) {
    room = std::min(room * dimension, kMostInDimension);
  }
  if (room < hosts) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} has {} hosts; {} are needed", topology_name(topology), room, hosts),
                "give larger dimensions, fewer --workers or more --per-host");
  }
  return topology.dimensions;
}

}  // namespace lockstep::simulate
