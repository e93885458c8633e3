#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::predict {

/// A device as its data sheet or a calibration describes it.
struct Device {
  std::string name;
  double flops = 0;          ///< peak FP32 operations/s at boost clock, tensor cores not counted
  double bytes_per_s = 0;    ///< memory bandwidth
  double memory_bytes = 0;   ///< 0 = not known
  double base_over_boost{};  ///< ratio of the clocks; 0 = not published, or flops was measured
  bool calibrated{};         ///< flops and bandwidth were measured: nothing is derated

  /// What arithmetic-bound kernels can count on for longer than a moment: devices run between the
  /// base clock that their power limit guarantees and the boost clock that the peak is stated at,
  /// here half-way. A 70 W device (T4: 585 to 1590 MHz) is far from its peak, a 300 W one near it.
  double sustained_flops() const;
};

const std::vector<Device>& device_table();

/// By name, ignoring case, spaces, '-' and vendor words ("NVIDIA Tesla V100-SXM2-16GB" is v100).
/// Nothing when unknown.
std::optional<Device> find_device(std::string_view name);

}  // namespace lockstep::predict
