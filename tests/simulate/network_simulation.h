#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/launch/process/captured_output.h"
#include "lockstep/simulate/network/network_request.h"

namespace lockstep::simulate {

inline NetworkRequest request_of(std::int64_t workers, std::int64_t per_host,
                                 const std::string& topology) {
  NetworkRequest request;
  request.cluster.workers = workers;
  request.cluster.per_host = per_host;
  request.cluster.inside = {3e-6, 50e9};
  request.cluster.link = {20e-6, 1.25e9};
  request.cluster.topology = parse_topology(topology);
  request.bytes = {1 << 26};
  return request;
}

inline launch::CapturedOutput ask(const NetworkRequest& request) {
  launch::ProcessSpec spec;
  spec.program = LOCKSTEP_SIM_PROGRAM;
  spec.separate_errors = true;
  spec.input = nlohmann::json(request).dump() + "\n";
  return launch::run_captured(spec, Seconds(120), SystemClock());
}

inline NetworkTime simulated(const NetworkRequest& request) {
  const launch::CapturedOutput captured = ask(request);
  EXPECT_TRUE(captured.status.clean()) << captured.errors;
  if (!captured.status.clean()) return {};
  return nlohmann::json::parse(captured.output).get<NetworkAnswer>().times.front();
}

inline double simulated_s(const NetworkRequest& request) {
  return simulated(request).seconds;
}

inline double counted_s(const NetworkRequest& request) {
  return count_nonblocking(
             all_reduce_schedule(request.algorithm, request.bytes.front(), request.cluster),
             request.cluster)
      .seconds;
}

}  // namespace lockstep::simulate
