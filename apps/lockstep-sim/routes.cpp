#include "routes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <simgrid/s4u.hpp>

#include "lockstep/base/error.h"

namespace lockstep::sim {
namespace {

namespace sg = simgrid::s4u;
using simulate::Flow;
using simulate::Round;

/// What to say about the route that is looked up.
std::string missing_route;

/// SimGrid 3.32 follows a null pointer where a zone has no route between two of its hosts.
extern "C" void report_missing_route(int) {
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, missing_route.data(), missing_route.size());
  ::_exit(exit_code(ErrorKind::kData));
}

/// Throws kData where there is no route.
simulate::LinkSpeed speed_between(const sg::Host* from, const sg::Host* to,
                                  const std::string& path) {
  const Error problem(ErrorKind::kData,
                      fmt::format("{}: no route from host '{}' to host '{}'", path,
                                  from->get_name(), to->get_name()),
                      "connect the hosts in the platform file");
  missing_route = format_error(problem);
  std::vector<sg::Link*> links;
  simulate::LinkSpeed speed;
  try {
    from->route_to(to, links, &speed.latency_s);
  } catch (const std::exception&) {
    // SimGrid's own words name its sources, not the file.
  }
  if (links.empty()) throw problem;
  speed.bytes_per_s = links.front()->get_bandwidth();
  for (const sg::Link* link : links) {
    speed.bytes_per_s = std::min(speed.bytes_per_s, link->get_bandwidth());
  }
  return speed;
}

}  // namespace

sg::Host* host_of(const Hosts& hosts, const simulate::Cluster& cluster, std::int64_t rank) {
  return hosts[static_cast<std::size_t>(cluster.host_of(rank))];
}

std::vector<sg::Link*> links_between(const sg::Host* from, const sg::Host* to) {
  std::vector<sg::Link*> links;
  double latency = 0;
  from->route_to(to, links, &latency);
  return links;
}

simulate::LinkSpeed slowest_route(const simulate::NetworkRequest& request, const Hosts& hosts) {
  const simulate::Cluster& cluster = request.cluster;
  if (cluster.topology.kind != simulate::TopologyKind::kPlatform) return cluster.link;
  const auto former = std::signal(SIGSEGV, report_missing_route);
  std::set<std::pair<sg::Host*, sg::Host*>> seen;
  simulate::LinkSpeed slowest;
  for (const Round& round : simulate::all_reduce_schedule(request.algorithm, 1e6, cluster)) {
    for (const Flow& flow : round.flows) {
      const auto pair =
          std::pair(host_of(hosts, cluster, flow.from), host_of(hosts, cluster, flow.to));
      if (!between_hosts(flow, cluster) || !seen.insert(pair).second) continue;
      const simulate::LinkSpeed one = speed_between(pair.first, pair.second, cluster.topology.path);
      slowest.latency_s = std::max(slowest.latency_s, one.latency_s);
      slowest.bytes_per_s =
          seen.size() == 1 ? one.bytes_per_s : std::min(slowest.bytes_per_s, one.bytes_per_s);
    }
  }
  std::signal(SIGSEGV, former);
  return seen.empty() ? cluster.link : slowest;
}

}  // namespace lockstep::sim
