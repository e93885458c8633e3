#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/record/calibration.h"

namespace lockstep::store {

/// What the machines of a store were measured to do, each list newest first.
struct Calibrations {
  std::vector<record::LinkCalibration> links;
  std::vector<record::DeviceCalibration> devices;

  /// The newest for exactly these; an empty host and no back end mean any.
  const record::LinkCalibration* link(const std::string& host,
                                      std::optional<record::Backend> backend, int workers,
                                      int nodes = 1) const;
  /// The newest of the host with that many threads per worker; an empty host or 0 threads means
  /// any.
  const record::DeviceCalibration* device(const std::string& host, int threads) const;
};

/// Nothing if there is no store yet. Throws kData as Store does.
Calibrations calibrations(const std::string& store_path);

/// Adds one; makes the store if there is none. Older ones of the same are kept. Throws kData as
/// RunWriter does.
void add_calibration(const std::string& store_path, const record::LinkCalibration& link);
void add_calibration(const std::string& store_path, const record::DeviceCalibration& device);

}  // namespace lockstep::store
