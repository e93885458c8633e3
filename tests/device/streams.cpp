#include "streams.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "counters.h"
#include "memory.h"
#include "ordering.h"

namespace device_double {
namespace {

thread_local c10::DeviceIndex device_of_thread = 0;
thread_local c10::StreamId stream_of_thread[kDevices] = {};
std::atomic<int> streams_given{0};
std::atomic<bool> broken{false};

/// What every call of a GPU answers after a failure of one of its kernels.
void require_working() {
  TORCH_CHECK(!broken, "CUDA error: device-side assert triggered");
}

c10::Stream stream_of(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, device), id);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device getDevice() const override { return {c10::kCUDA, device_of_thread}; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() < visible_devices(), "CUDA error: invalid device ordinal");
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) device_of_thread = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(visible_devices());
  }

  c10::Stream getStream(c10::Device device) const noexcept override {
    const auto index = device.has_index() ? device.index() : device_of_thread;
    return stream_of(index, stream_of_thread[index]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream_of(device.index(), 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream_of(device.index(), 1 + streams_given++ % (kStreams - 1));
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    const c10::Stream before = getStream(stream.device());
    stream_of_thread[stream.device_index()] = stream.id();
    return before;
  }
  bool queryStream(const c10::Stream& stream) const override {
    require_working();
    return Ordering::instance().query_stream(number_of(stream));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    require_working();
    Ordering::instance().synchronize(number_of(stream));
  }
  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    note_stream(memory, number_of(stream));
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) *event = new Ordering::Event;
    *static_cast<Ordering::Event*>(*event) = Ordering::instance().record(number_of(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event == nullptr) return;
    Ordering::instance().block(number_of(stream), *static_cast<Ordering::Event*>(event));
  }
  bool queryEvent(void* event) const override {
    require_working();
    return event == nullptr || Ordering::instance().query(*static_cast<Ordering::Event*>(event));
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Ordering::Event*>(event);
  }
};

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

}  // namespace

void set_broken(bool now) {
  broken = now;
}

int visible_devices() {
  // As CUDA does: a comma-separated list says which of the devices a process sees.
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return kDevices;
  if (*visible == '\0' || *visible == '-') return 0;
  return static_cast<int>(1 + std::count(visible, visible + std::strlen(visible), ','));
}

c10::DeviceIndex current_device() {
  return device_of_thread;
}

int current_stream(c10::DeviceIndex device) {
  return number_of(stream_of(device, stream_of_thread[device]));
}

}  // namespace device_double

namespace at {

/// LibTorch looks for a class of this name.
struct CUDAHooks final : CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  void initCUDA() const override {}
  /// As LibTorch's own answer.
  bool hasCUDA() const override { return device_double::visible_devices() > 0; }
  int getNumGPUs() const override { return device_double::visible_devices(); }
  bool hasPrimaryContext(int64_t) const override { return true; }
  int64_t current_device() const override { return device_double::current_device(); }
  const Generator& getDefaultCUDAGenerator(DeviceIndex) const override {
    static const Generator generator = make_generator<CPUGeneratorImpl>(1);
    return generator;
  }
  Allocator* getPinnedMemoryAllocator() const override { return device_double::pinned_allocator(); }
  Allocator* getCUDADeviceAllocator() const override { return device_double::device_allocator(); }
  bool isPinnedPtr(void* data) const override { return device_double::is_pinned(data); }
  Device getDeviceFromPtr(void* data) const override {
    return {kCUDA, static_cast<DeviceIndex>(device_double::device_of(data))};
  }
  void deviceSynchronize(int64_t device) const override {
    for (int stream = 0; stream < device_double::kStreams; ++stream) {
      device_double::Ordering::instance().synchronize(
          static_cast<int>(device) * device_double::kStreams + stream);
    }
  }
};

REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace at

constexpr int kNoDevice = 100;

// What the CUDA runtime has under these names.
extern "C" int cudaGetDeviceCount(int* count) {
  *count = device_double::visible_devices();
  return *count > 0 ? 0 : kNoDevice;
}

extern "C" const char* cudaGetErrorString(int error) {
  return error == kNoDevice ? "no CUDA-capable device is detected" : "unknown error";
}

/// Which GPU of the host a visible one is.
extern "C" int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  int host_device = device;
  for (int i = 0; visible != nullptr && *visible != '\0' && i <= device; ++i) {
    host_device = std::atoi(visible);
    const char* comma = std::strchr(visible, ',');
    if (comma == nullptr) break;
    visible = comma + 1;
  }
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", host_device + 1);
  return 0;
}

namespace {

constexpr int kInvalidValue = 1;
std::atomic<int> last_error{0};

}  // namespace

/// Locks the pages of memory that others allocated; not in the size DEVICE_DOUBLE_UNPINNABLE.
extern "C" int cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  const char* refused = std::getenv("DEVICE_DOUBLE_UNPINNABLE");
  if (refused != nullptr && std::strtoull(refused, nullptr, 10) == bytes) {
    return last_error = kInvalidValue;
  }
  device_double::pin_range(memory, bytes);
  return 0;
}

extern "C" int cudaHostUnregister(void* memory) {
  return device_double::unpin_range(memory) ? 0 : (last_error = kInvalidValue);
}

extern "C" int cudaGetLastError() {
  return last_error.exchange(0);
}

/// Major (75) and minor (76) compute capability: DEVICE_DOUBLE_CAPABILITY, for example 75.
extern "C" int cudaDeviceGetAttribute(int* value, int attribute, int) {
  const char* given = std::getenv("DEVICE_DOUBLE_CAPABILITY");
  const int capability = given != nullptr ? std::atoi(given) : 80;
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return 0;
}

// Events of the CUDA runtime, on the default stream only. Operations of the double are done when
// they are called, so the time of an event is when it was recorded. DEVICE_DOUBLE_OPERATIONS_CLOCK:
// a clock that ticks once, by a millisecond, with each operation and copy of the stream.
namespace {

struct TimedEvent {
  device_double::Ordering::Event event;
  std::chrono::steady_clock::time_point at;
};

constexpr int kNotReady = 600;

}  // namespace

extern "C" int cudaEventCreate(void** event) {
  *event = new TimedEvent;
  return 0;
}

extern "C" int cudaEventDestroy(void* event) {
  delete static_cast<TimedEvent*>(event);
  return 0;
}

extern "C" int cudaEventRecord(void* event, void*) {
  const int stream = device_double::current_device() * device_double::kStreams;
  *static_cast<TimedEvent*>(event) = {device_double::Ordering::instance().record(stream),
                                      std::chrono::steady_clock::now()};
  return 0;
}

extern "C" int cudaEventElapsedTime(float* milliseconds, void* from, void* to) {
  const auto& first = *static_cast<const TimedEvent*>(from);
  const auto& second = *static_cast<const TimedEvent*>(to);
  auto& ordering = device_double::Ordering::instance();
  if (!ordering.passed(first.event) || !ordering.passed(second.event)) return kNotReady;
  if (std::getenv("DEVICE_DOUBLE_OPERATIONS_CLOCK") != nullptr) {
    const int stream = first.event.stream;
    const auto between = second.event.clock.at(stream) - first.event.clock.at(stream);
    *milliseconds = static_cast<float>(between) - 1;  // the second event itself
  } else {
    *milliseconds = std::chrono::duration<float, std::milli>(second.at - first.at).count();
  }
  return 0;
}
