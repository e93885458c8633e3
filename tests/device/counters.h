#pragma once

#include <atomic>
#include <cstdint>

namespace device_double {

/// What the double was asked for since the process began.
struct Counters {
  std::atomic<std::int64_t> operations{0};       ///< kernels, without copies and views
  std::atomic<std::int64_t> bytes_to_device{0};  ///< copied from the host

  static Counters& instance();
};

/// From now on the device has failed, as after an illegal address: every wait for it throws.
void set_broken(bool broken);

}  // namespace device_double
