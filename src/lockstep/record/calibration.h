#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/record/choices.h"
#include "lockstep/record/machine.h"

namespace lockstep::record {

/// One size of a collective benchmark.
struct CollectivePoint {
  std::int64_t bytes = 0;
  double seconds = 0;  ///< median over the rounds
  int rounds = 0;
};

/// What a link was measured to do: all-reduces of many sizes with one back end and worker count. A
/// ring all-reduce of S bytes over N workers takes 2 (N-1) alpha + 2 (N-1)/N S / beta.
struct LinkCalibration {
  Machine machine;
  Backend backend = Backend::kAuto;
  int workers = 2;
  int nodes = 1;
  double alpha_s = 0;         ///< latency of one of the 2 (N-1) messages
  double bytes_per_s = 0;     ///< beta
  double spread = 0;          ///< relative misfit of the two to the points
  double peak_bus_per_s = 0;  ///< largest bus bandwidth among the points, bytes/s
  std::int64_t measured_wall_ns = 0;
  std::vector<CollectivePoint> points;
};

/// What a device was measured to do.
struct DeviceCalibration {
  Machine machine;
  std::string device;      ///< "cpu", ...
  int threads = 1;         ///< that one worker used
  double flops = 0;        ///< FP32 operations/s of a large matrix product
  double bytes_per_s = 0;  ///< memory bandwidth, read and written together
  std::string gemm;        ///< the library that multiplied
  std::int64_t measured_wall_ns = 0;
};

void to_json(nlohmann::json& json, const CollectivePoint& point);
void from_json(const nlohmann::json& json, CollectivePoint& point);
void to_json(nlohmann::json& json, const LinkCalibration& link);
void from_json(const nlohmann::json& json, LinkCalibration& link);
void to_json(nlohmann::json& json, const DeviceCalibration& device);
void from_json(const nlohmann::json& json, DeviceCalibration& device);

}  // namespace lockstep::record
