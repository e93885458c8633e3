#pragma once

#include <cstdint>
#include <string>

#include "command.h"
#include "measured_series.h"

namespace lockstep::cli {

/// A question across devices: what was measured on one, on another.
struct DeviceQuestion {
  std::string target;    ///< device asked for
  std::string measured;  ///< device to start from
  std::string network;   ///< layer table; empty = the measured model's
  std::int64_t batch = 0;
  std::int64_t workers = 1;
  std::int64_t epochs = 0;
  bool layers = false;  ///< list the layers
};

/// Prints the ratio of the two devices by the roofline of the network's layers, and the times on
/// the target where the source has measurements on the other. Throws kUsage for unknown devices or
/// networks.
void predict_across_devices(const GlobalOptions& global, const MeasuredSource& source,
                            const DeviceQuestion& question);

}  // namespace lockstep::cli
