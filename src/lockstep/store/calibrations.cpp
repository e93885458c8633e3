#include "lockstep/store/calibrations.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/store/connection.h"

namespace lockstep::store {
namespace {

constexpr const char* kLink = "link";
constexpr const char* kDevice = "device";

void add(const std::string& store_path, const char* kind, std::int64_t when,
         const nlohmann::json& calibration) {
  Database database = open_for_writing(store_path);
  Transaction transaction(database);
  Statement insert = database.prepare(
      "INSERT INTO calibrations(kind, measured_wall_ns, calibration) VALUES(?,?,?)");
  insert.bind(1, std::string(kind)).bind(2, when);
  insert.bind(3, calibration.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .execute();
  transaction.commit();
}

}  // namespace

const record::LinkCalibration* Calibrations::link(const std::string& host,
                                                  std::optional<record::Backend> backend,
                                                  int workers, int nodes) const {
  for (const record::LinkCalibration& one : links) {
    if ((host.empty() || one.machine.host == host) && (!backend || one.backend == backend) &&
        one.workers == workers && one.nodes == nodes) {
      return &one;
    }
  }
  return nullptr;
}

const record::DeviceCalibration* Calibrations::device(const std::string& host, int threads) const {
  for (const record::DeviceCalibration& one : devices) {
    if ((host.empty() || one.machine.host == host) && (threads == 0 || one.threads == threads)) {
      return &one;
    }
  }
  return nullptr;
}

Calibrations calibrations(const std::string& store_path) {
  Calibrations found;
  std::error_code ignored;
  if (!std::filesystem::exists(store_path, ignored)) return found;
  Database database = open_for_reading(store_path);
  Statement rows = database.prepare(
      "SELECT id, kind, calibration FROM calibrations ORDER BY measured_wall_ns DESC, id DESC");
  while (rows.step()) {
    try {
      const auto json = nlohmann::json::parse(rows.text(2));
      if (rows.text(1) == kLink) found.links.push_back(json.get<record::LinkCalibration>());
      if (rows.text(1) == kDevice) found.devices.push_back(json.get<record::DeviceCalibration>());
    } catch (const nlohmann::json::exception& problem) {
      throw Error(ErrorKind::kData,
                  fmt::format("calibration {} of the store {} is damaged: {}", rows.integer(0),
                              store_path, problem.what()),
                  "use another store with --store");
    }
  }
  return found;
}

void add_calibration(const std::string& store_path, const record::LinkCalibration& link) {
  add(store_path, kLink, link.measured_wall_ns, link);
}

void add_calibration(const std::string& store_path, const record::DeviceCalibration& device) {
  add(store_path, kDevice, device.measured_wall_ns, device);
}

}  // namespace lockstep::store
