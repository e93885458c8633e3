#include "flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <simgrid/s4u.hpp>

#include "lockstep/base/rng.h"
#include "routes.h"

namespace lockstep::sim {
namespace {

namespace sg = simgrid::s4u;
using simulate::Cluster;
using simulate::Flow;
using simulate::Round;

/// On a link that is not shared each flow has the whole bandwidth, so it is never used up.
bool is_shared(const sg::Link& link) {
  return link.get_sharing_policy() != sg::Link::SharingPolicy::FATPIPE;
}

/// Traffic of others: each host sends to another one all the time, at a share of the speed of its
/// link, and what these flows take on their routes is gone for everyone else. A tenth of each link
/// is always left.
void take_background(const Cluster& cluster, const Hosts& hosts) {
  if (cluster.background <= 0 || hosts.size() < 2) return;
  const auto count = static_cast<std::uint32_t>(hosts.size());
  const auto order = random_permutation(count, Rng(cluster.seed, 0xbac6));
  std::map<sg::Link*, double> taken;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto links = links_between(hosts[order[i]], hosts[order[(i + 1) % count]]);
    const double rate = cluster.background * links.front()->get_bandwidth();
    for (sg::Link* link : links) {
      if (is_shared(*link)) taken[link] += rate;
    }
  }
  for (const auto& [link, rate] : taken) {
    const double whole = link->get_bandwidth();
    link->set_bandwidth(std::max(whole - rate, 0.1 * whole));
  }
}

/// SimGrid's names of the links between hosts of a torus, and between routers and groups of a
/// dragonfly, in the user's words.
std::string plain_name(const Cluster& cluster, std::int64_t host, const std::string& name) {
  int a = 0;
  int b = 0;
  if (std::sscanf(name.c_str(), "torus_link_from_%d_to_%d", &a, &b) == 2) {
    if (name.ends_with("DOWN")) std::swap(a, b);
    return fmt::format("from host {} to host {}", a, b);
  }
  if (std::sscanf(name.c_str(), "blue_link_between_group_%d_and_%d", &a, &b) == 2) {
    return fmt::format("between groups {} and {}", a, b);
  }
  if (std::sscanf(name.c_str(), "green_link_in_chassis_%*d_between_routers_%d_and_%d", &a, &b) ==
      2) {
    const auto size = simulate::dragonfly_size(cluster.topology, cluster.hosts());
    const std::int64_t group = host / (size.routers * cluster.topology.hosts_per_switch);
    return fmt::format("between routers {} and {} of group {}", a, b, group);
  }
  return name;
}

/// What a link is to the user.
std::string link_name(const Cluster& cluster, const Flow& flow, const std::vector<sg::Link*>& route,
                      std::size_t at) {
  const auto kind = cluster.topology.kind;
  const bool fat_tree = kind == simulate::TopologyKind::kFatTree;
  const bool up = at < route.size() / 2;
  const std::int64_t host = cluster.host_of(up ? flow.from : flow.to);
  const bool of_host = at == 0 || at + 1 == route.size();
  if (of_host && (fat_tree || kind == simulate::TopologyKind::kDragonfly)) {
    return fmt::format("host {}, {}", host, up ? "sending" : "receiving");
  }
  const bool named =
      kind == simulate::TopologyKind::kTorus || kind == simulate::TopologyKind::kDragonfly;
  if (named) return plain_name(cluster, host, route[at]->get_name());
  if (!fat_tree) return route[at]->get_name();
  return fmt::format("{} of switch {}", up ? "uplink" : "downlink",
                     host / cluster.topology.hosts_per_switch);
}

/// Seconds for which each link would be busy with what it carries.
struct LinkLoad {
  double busy_s = 0;
  std::string name{};
};
using Load = std::map<const sg::Link*, LinkLoad>;

/// Latencies that links had before hide_latency().
using Latencies = std::map<const sg::Link*, double>;

/// The longest latency of a round's routes, which from then on have none in the simulation: it
/// passes while data is transferred (LinkSpeed::hides_latency).
double hide_latency(const Round& round, const Cluster& cluster, const Hosts& hosts,
                    Latencies& latencies) {
  double longest = 0;
  for (const Flow& flow : round.flows) {
    if (!between_hosts(flow, cluster)) continue;
    double sum = 0;
    for (sg::Link* link :
         links_between(host_of(hosts, cluster, flow.from), host_of(hosts, cluster, flow.to))) {
      const auto [known, added] = latencies.try_emplace(link, link->get_latency());
      if (added) link->set_latency(0);
      sum += known->second;
    }
    longest = std::max(longest, sum);
  }
  return longest;
}

double network_round_s(const Round& round, const Cluster& cluster, const Hosts& hosts,
                       Latencies& latencies) {
  const double latency =
      cluster.link.hides_latency ? hide_latency(round, cluster, hosts, latencies) : 0;
  const double begin = sg::Engine::get_clock();
  std::vector<sg::CommPtr> flows;
  for (const Flow& flow : round.flows) {
    if (!between_hosts(flow, cluster)) continue;
    flows.push_back(sg::Comm::sendto_async(host_of(hosts, cluster, flow.from),
                                           host_of(hosts, cluster, flow.to),
                                           static_cast<std::uint64_t>(flow.bytes)));
  }
  for (const sg::CommPtr& flow : flows) flow->wait();
  return std::max(sg::Engine::get_clock() - begin, latency);
}

void add_load(Load& load, const Round& round, const Cluster& cluster, const Hosts& hosts) {
  for (const Flow& flow : round.flows) {
    if (!between_hosts(flow, cluster)) continue;
    const auto links =
        links_between(host_of(hosts, cluster, flow.from), host_of(hosts, cluster, flow.to));
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (!is_shared(*links[i])) continue;
      LinkLoad& one = load[links[i]];
      one.busy_s += static_cast<double>(round.repeat) * flow.bytes / links[i]->get_bandwidth();
      if (one.name.empty()) one.name = link_name(cluster, flow, links, i);
    }
  }
}

}  // namespace

std::vector<simulate::NetworkTime> time_rounds(const simulate::NetworkRequest& request,
                                               const Hosts& hosts, const Progress& progress) {
  const Cluster& cluster = request.cluster;
  std::vector<simulate::NetworkTime> times;
  take_background(cluster, hosts);
  Latencies latencies;
  for (const double bytes : request.bytes) {
    simulate::NetworkTime time{bytes, 0, {}, 0};
    Load load;
    const auto schedule = simulate::all_reduce_schedule(request.algorithm, bytes, cluster);
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      const Round& round = schedule[i];
      const double once = std::max(network_round_s(round, cluster, hosts, latencies),
                                   simulate::inside_round_s(round, cluster));
      time.seconds += static_cast<double>(round.repeat) * once + simulate::fill_s(round, cluster);
      add_load(load, round, cluster, hosts);
      progress(times.size() * schedule.size() + i + 1, request.bytes.size() * schedule.size());
    }
    for (const auto& [link, one] : load) {
      const double share = one.busy_s / time.seconds;
      // Of links as busy as each other the first by name, so that the answer is always the same.
      const bool busier = share > time.busiest_share * (1 + 1e-9);
      const bool as_busy = share > time.busiest_share * (1 - 1e-9);
      if (!busier && !(as_busy && one.name < time.busiest_link)) continue;
      time.busiest_share = share;
      time.busiest_link = one.name;
    }
    times.push_back(time);
  }
  return times;
}

}  // namespace lockstep::sim
