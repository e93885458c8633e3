#pragma once

#include <c10/core/Stream.h>

namespace device_double {

/// How many devices there are.
constexpr int kDevices = 4;
/// Streams per device; the first is its default stream.
constexpr int kStreams = 33;

int visible_devices();
c10::DeviceIndex current_device();
/// The number, among those of all devices, of the stream this thread works on.
int current_stream(c10::DeviceIndex device);

inline int number_of(const c10::Stream& stream) {
  return stream.device_index() * kStreams + static_cast<int>(stream.id());
}

}  // namespace device_double
