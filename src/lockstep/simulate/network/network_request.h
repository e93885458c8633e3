#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/simulate/network/cluster.h"
#include "lockstep/simulate/network/schedule.h"

namespace lockstep::simulate {

/// What `lockstep-sim` reads on its standard input: all-reduces to time on one cluster.
struct NetworkRequest {
  Cluster cluster;
  Algorithm algorithm = Algorithm::kRing;
  std::vector<double> bytes;  ///< one all-reduce each
  /// Every message of every rank with its own dependencies instead of whole rounds: for small
  /// clusters, and to check that rounds are good enough.
  bool messages = false;
};

/// One all-reduce as `lockstep-sim` found it.
struct NetworkTime {
  double bytes = 0;
  double seconds = 0;
  std::string busiest_link{};  ///< the link that carried data for the largest part of the time
  double busiest_share = 0;    ///< of that link's capacity, over the all-reduce
};

/// What it answers on its standard output.
struct NetworkAnswer {
  std::vector<NetworkTime> times;  ///< in the order of the request
};

void to_json(nlohmann::json& json, const NetworkRequest& request);
/// Throws kData for what is no request.
void from_json(const nlohmann::json& json, NetworkRequest& request);
void to_json(nlohmann::json& json, const NetworkAnswer& answer);
void from_json(const nlohmann::json& json, NetworkAnswer& answer);

}  // namespace lockstep::simulate
