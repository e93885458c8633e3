#include "platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <simgrid/s4u.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/text/text.h"

namespace lockstep::sim {
namespace {

namespace sg = simgrid::s4u;
using simulate::Cluster;
using simulate::TopologyKind;

constexpr double kFlops = 1e9;  // hosts compute nothing here

/// Hosts as a cluster zone makes them, by their number.
sg::ClusterCallbacks make_hosts(std::map<unsigned long, sg::Host*>& made) {
  return sg::ClusterCallbacks(
      [&made](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
        sg::Host* host = zone->create_host(fmt::format("host-{}", id), kFlops);
        made[id] = host;
        return std::make_pair(host->get_netpoint(),
                              static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
      });
}

std::vector<sg::Host*> first_hosts(const std::map<unsigned long, sg::Host*>& made,
                                   std::int64_t count) {
  std::vector<sg::Host*> hosts;
  for (const auto& [id, host] : made) {
    if (static_cast<std::int64_t>(hosts.size()) < count) hosts.push_back(host);
  }
  return hosts;
}

std::vector<sg::Host*> make_star(const Cluster& cluster) {
  sg::NetZone* zone = sg::create_star_zone("star");
  std::vector<sg::Host*> hosts;
  for (std::int64_t i = 0; i < cluster.hosts(); ++i) {
    sg::Host* host = zone->create_host(fmt::format("host-{}", i), kFlops);
    sg::SplitDuplexLink* link =
        zone->create_split_duplex_link(fmt::format("link-of-host-{}", i), cluster.link.bytes_per_s);
    link->set_latency(cluster.link.latency_s / 2)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

/// Lowest switches with their hosts, then as many switches above as there are uplinks.
std::vector<sg::Host*> make_fat_tree(const Cluster& cluster) {
  const simulate::Topology& topology = cluster.topology;
  const auto hosts = static_cast<unsigned>(cluster.hosts());
  const auto down = static_cast<unsigned>(topology.hosts_per_switch);
  const auto up =
      static_cast<unsigned>(topology.uplinks > 0 ? topology.uplinks : topology.hosts_per_switch);
  const unsigned switches = (hosts + down - 1) / down;
  std::vector<unsigned> children{down, switches};
  std::vector<unsigned> parents{1, up};
  if (topology.levels == 3) {
    children = {down, down, (switches + down - 1) / down};
    parents = {1, up, up};
  }
  const std::vector<unsigned> one_link_each(children.size(), 1);
  std::map<unsigned long, sg::Host*> made;
  sg::create_fatTree_zone(
      "fat-tree", nullptr,
      {static_cast<unsigned>(children.size()), children, parents, one_link_each}, make_hosts(made),
      cluster.link.bytes_per_s, cluster.link.latency_s / 2, sg::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  return first_hosts(made, cluster.hosts());
}

std::vector<sg::Host*> make_torus(const Cluster& cluster) {
  // Along a dimension of one host, SimGrid would link it with itself, and fails at two of these.
  std::vector<unsigned long> dimensions;
  for (const std::int64_t along : simulate::torus_dimensions(cluster.topology, cluster.hosts())) {
    if (along > 1) dimensions.push_back(static_cast<unsigned long>(along));
  }
  std::map<unsigned long, sg::Host*> made;
  sg::create_torus_zone("torus", nullptr, dimensions, make_hosts(made), cluster.link.bytes_per_s,
                        cluster.link.latency_s, sg::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  return first_hosts(made, cluster.hosts());
}

std::vector<sg::Host*> make_dragonfly(const Cluster& cluster) {
  const auto nodes = static_cast<unsigned>(cluster.topology.hosts_per_switch);
  const auto size = simulate::dragonfly_size(cluster.topology, cluster.hosts());
  const auto routers = static_cast<unsigned>(size.routers);
  const auto groups = static_cast<unsigned>(size.groups);
  std::map<unsigned long, sg::Host*> made;
  sg::create_dragonfly_zone("dragonfly", nullptr, {{groups, 1}, {1, 1}, {routers, 1}, nodes},
                            make_hosts(made), cluster.link.bytes_per_s, cluster.link.latency_s / 2,
                            sg::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  return first_hosts(made, cluster.hosts());
}

/// host-2 before host-10.
bool numbers_in_order(const sg::Host* a, const sg::Host* b) {
  const std::string& left = a->get_name();
  const std::string& right = b->get_name();
  return std::pair(left.size(), left) < std::pair(right.size(), right);
}

void check_links(const sg::Engine& engine, const std::string& path) {
  for (const sg::Link* link : engine.get_all_links()) {
    if (!(link->get_bandwidth() > 0)) {
      throw Error(ErrorKind::kData,
                  fmt::format("{}: link '{}' has no bandwidth", path, link->get_name()),
                  "give every link a bandwidth above zero");
    }
    if (!(link->get_latency() >= 0)) {
      throw Error(ErrorKind::kData,
                  fmt::format("{}: link '{}' has a latency below zero", path, link->get_name()),
                  "give every link a latency of zero or more");
    }
  }
}

std::vector<sg::Host*> load_platform(sg::Engine& engine, const Cluster& cluster) {
  const std::string& path = cluster.topology.path;
  if (!std::filesystem::is_regular_file(path)) {
    throw Error(
        ErrorKind::kData, fmt::format("there is no platform file {}", path),
        "give the path of a SimGrid platform (.xml), or star, fat-tree:2, torus, dragonfly");
  }
  try {
    engine.load_platform(path);
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::kData,
                fmt::format("{} is not a SimGrid platform: {}", path, printable(problem.what())),
                "check it against SimGrid's platform format, version 4.1");
  }
  check_links(engine, path);
  std::vector<sg::Host*> hosts = engine.get_all_hosts();
  std::sort(hosts.begin(), hosts.end(), numbers_in_order);
  const auto wanted = static_cast<std::size_t>(cluster.hosts());
  if (hosts.size() < wanted) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} has {} hosts; {} workers with --per-host {} need {}", path,
                            hosts.size(), cluster.workers, cluster.per_host, wanted),
                "give fewer --workers or more --per-host");
  }
  hosts.resize(wanted);
  return hosts;
}

}  // namespace

void set_network_model() {
  // Rounds of large clusters last microseconds: SimGrid's usual nanosecond would show. Its lazy
  // updates keep old rates of flows where others begin later on links of unequal speed, which then
  // carry more than their bandwidth.
  for (const char* setting :
       {"network/optim:Full", "network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
        "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
        "maxmin/precision:1e-7", "surf/precision:1e-12", "contexts/stack-size:128"}) {
    sg::Engine::set_config(setting);
  }
}

std::vector<sg::Host*> make_platform(sg::Engine& engine, const Cluster& cluster) {
  switch (cluster.topology.kind) {
    case TopologyKind::kStar:
      return make_star(cluster);
    case TopologyKind::kFatTree:
      return make_fat_tree(cluster);
    case TopologyKind::kTorus:
      return make_torus(cluster);
    case TopologyKind::kDragonfly:
      return make_dragonfly(cluster);
    case TopologyKind::kPlatform:
      return load_platform(engine, cluster);
  }
  return {};
}

}  // namespace lockstep::sim
