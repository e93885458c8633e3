#include "lockstep/collect/calibrated_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/store/calibrations.h"

namespace lockstep::collect {
namespace {

/// "cpu", a host, or either with the threads of a worker: "cpu:2".
struct CalibratedName {
  std::string host;  ///< empty = any
  int threads = 0;   ///< 0 = the most that were calibrated
};

CalibratedName calibrated_name(const std::string& name) {
  const std::size_t colon = name.find(':');
  CalibratedName result{name.substr(0, colon), 0};
  if (result.host == "cpu") result.host.clear();
  if (colon != std::string::npos) result.threads = std::atoi(name.c_str() + colon + 1);
  return result;
}

/// What `lockstep bench device` measured: of the host and threads asked for, the newest.
std::optional<predict::Device> calibrated_device(const std::string& store_path,
                                                 const std::string& name) {
  const CalibratedName wanted = calibrated_name(name);
  const record::DeviceCalibration* best = nullptr;
  const store::Calibrations known = store::calibrations(store_path);
  for (const record::DeviceCalibration& one : known.devices) {
    if (!(one.flops > 0) || !(one.bytes_per_s > 0)) continue;
    if (!wanted.host.empty() && one.machine.host != wanted.host) continue;
    if (wanted.threads > 0 && one.threads != wanted.threads) continue;
    if (best == nullptr || one.threads > best->threads) best = &one;
  }
  if (best == nullptr) return std::nullopt;
  predict::Device device;
  device.name = fmt::format("{}:{}", wanted.host.empty() ? "cpu" : wanted.host, best->threads);
  device.flops = best->flops;
  device.bytes_per_s = best->bytes_per_s;
  device.calibrated = true;
  return device;
}

}  // namespace

std::optional<predict::Device> known_device(const std::string& name,
                                            const std::string& store_path) {
  if (auto device = predict::find_device(name)) return device;
  return calibrated_device(store_path, name);
}

predict::Device device_named(const std::string& name, const std::string& store_path) {
  if (auto device = known_device(name, store_path)) return *device;
  std::string known;
  for (const predict::Device& device : predict::device_table()) {
    known += (known.empty() ? "" : ", ") + device.name;
  }
  throw Error(
      ErrorKind::kUsage,
      fmt::format("no data sheet for device '{}', and no calibration in {}", name, store_path),
      fmt::format("known devices: {}; lockstep bench device calibrates a processor, which is then "
                  "available as 'cpu', 'cpu:THREADS' or its host's name",
                  known));
}

}  // namespace lockstep::collect
