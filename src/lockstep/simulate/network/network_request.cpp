#include "lockstep/simulate/network/network_request.h"

#include <nlohmann/json.hpp>

namespace lockstep::simulate {
namespace {

nlohmann::json link_json(const LinkSpeed& link) {
  return nlohmann::json{{"latency_s", link.latency_s},
                        {"bytes_per_s", link.bytes_per_s},
                        {"hides_latency", link.hides_latency}};
}

LinkSpeed link_from(const nlohmann::json& json) {
  return {json.at("latency_s").get<double>(), json.at("bytes_per_s").get<double>(),
          json.at("hides_latency").get<bool>()};
}

nlohmann::json topology_json(const Topology& topology) {
  return nlohmann::json{{"name", topology_name(topology)},
                        {"hosts_per_switch", topology.hosts_per_switch},
                        {"uplinks", topology.uplinks}};
}

Topology topology_from(const nlohmann::json& json) {
  Topology topology = parse_topology(json.at("name").get<std::string>());
  topology.hosts_per_switch = json.at("hosts_per_switch").get<int>();
  topology.uplinks = json.at("uplinks").get<int>();
  return topology;
}

}  // namespace

void to_json(nlohmann::json& json, const NetworkRequest& request) {
  const Cluster& cluster = request.cluster;
  json = {{"workers", cluster.workers},
          {"per_host", cluster.per_host},
          {"inside", link_json(cluster.inside)},
          {"link", link_json(cluster.link)},
          {"topology", topology_json(cluster.topology)},
          {"background", cluster.background},
          {"seed", cluster.seed},
          {"algorithm", algorithm_name(request.algorithm)},
          {"bytes", request.bytes},
          {"messages", request.messages}};
}

void from_json(const nlohmann::json& json, NetworkRequest& request) {
  Cluster& cluster = request.cluster;
  cluster.workers = json.at("workers").get<std::int64_t>();
  cluster.per_host = json.at("per_host").get<std::int64_t>();
  cluster.inside = link_from(json.at("inside"));
  cluster.link = link_from(json.at("link"));
  cluster.topology = topology_from(json.at("topology"));
  cluster.background = json.at("background").get<double>();
  cluster.seed = json.at("seed").get<std::uint64_t>();
  request.algorithm = algorithm_from_name(json.at("algorithm").get<std::string>());
  request.bytes = json.at("bytes").get<std::vector<double>>();
  request.messages = json.at("messages").get<bool>();
}

void to_json(nlohmann::json& json, const NetworkAnswer& answer) {
  json = nlohmann::json{{"times", nlohmann::json::array()}};
  for (const NetworkTime& time : answer.times) {
    json["times"].push_back({{"bytes", time.bytes},
                             {"seconds", time.seconds},
                             {"busiest_link", time.busiest_link},
                             {"busiest_share", time.busiest_share}});
  }
}

void from_json(const nlohmann::json& json, NetworkAnswer& answer) {
  answer.times.clear();
  for (const auto& time : json.at("times")) {
    answer.times.push_back({time.at("bytes").get<double>(), time.at("seconds").get<double>(),
                            time.at("busiest_link").get<std::string>(),
                            time.at("busiest_share").get<double>()});
  }
}

}  // namespace lockstep::simulate
