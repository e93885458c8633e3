#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/predict/devices/roofline.h"
#include "lockstep/predict/series_table.h"

namespace lockstep::predict {

/// A question across devices: what was measured on one, on another.
struct DeviceQuestion {
  std::string network;  ///< layer table; empty = the measured model's
  std::int64_t batch = 0;
  std::int64_t workers = 1;
  std::int64_t epochs = 0;
};

/// The time of one measured series on the other device.
struct TransferredTime {
  std::string series;
  bool of_epoch = false;  ///< of the whole run otherwise
  Estimate seconds;
};

struct DeviceTransfer {
  Device from;
  Device to;
  std::string network;
  double batch = 0;
  std::size_t layers = 0;
  Estimate ratio;       ///< time on `to` over time on `from`
  StepTimeBound bound;  ///< on `to`
  std::vector<TransferredTime> times;

  double flops_ratio() const { return from.flops / to.flops; }
};

/// Whether a series' device is this one. Rows name a processor in many ways; those of a store
/// have "cpu".
bool measured_on(const std::string& series_device, const Device& device);

/// The ratio of two devices by the roofline of a network's layers, and the times that the series,
/// measured on `from`, would take on `to`. Throws kUsage for an unknown network.
DeviceTransfer transfer_to_device(std::span<const TableSeries> series, const Device& from,
                                  const Device& to, const DeviceQuestion& question);

}  // namespace lockstep::predict
