#include "lockstep/train/sync/device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <thread>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/train/sync/torch_version.h"

// Streams and events are those of LibTorch's interface for all devices, so that nothing here needs
// the headers of CUDA: what this LibTorch supports is found at run time.
namespace lockstep::train {
namespace {

/// Bytes of "0000:3B:00.0" and its end.
constexpr int kPciBytes = 16;

c10::impl::VirtualGuardImpl runtime() {
  return c10::impl::VirtualGuardImpl(torch::kCUDA);
}

}  // namespace

/// Pinned buffers that batches pass through, and the stream they are copied on. Buffers of a shape
/// are used in turn; one is free again when the copy out of it is done.
struct Device::Staging {
  static constexpr std::size_t kBuffers = 3;
  struct Buffer {
    torch::Tensor pinned;
    c10::Event copied{torch::kCUDA};
  };
  struct Ring {
    std::vector<Buffer> buffers;
    std::size_t next = 0;
  };

  explicit Staging(torch::Device device) : stream(runtime().getStreamFromGlobalPool(device)) {}

  Buffer& buffer_for(const torch::Tensor& host) {
    const auto key = std::make_pair(host.numel(), static_cast<int>(host.scalar_type()));
    Ring& ring = rings[key];
    if (ring.buffers.size() < kBuffers) {
      ring.buffers.emplace_back();
      ring.buffers.back().pinned =
          torch::empty({host.numel()}, host.options().device(torch::kCPU).pinned_memory(true));
      return ring.buffers.back();
    }
    Buffer& buffer = ring.buffers[ring.next++ % kBuffers];
    wait_for(buffer.copied);
    return buffer;
  }

  c10::Stream stream;
  std::map<std::pair<std::int64_t, int>, Ring> rings;
};

torch::Tensor Device::take(const torch::Tensor& host) {
  if (is_cpu()) return host;
  auto& buffer = staging_->buffer_for(host);
  const auto pinned = buffer.pinned.as_strided(host.sizes(), host.strides());
  pinned.copy_(host);
  torch::Tensor arrived;
  {
    const c10::StreamGuard on_copy_stream(staging_->stream);
    arrived = pinned.to(device_, /*non_blocking=*/true);
    buffer.copied.record(staging_->stream);
  }
  const c10::Stream computing = runtime().getStream(device_);
  buffer.copied.block(computing);
  arrived.record_stream(computing);
  return arrived;
}

void Device::wait() const {
  if (!is_cpu()) runtime().getStream(device_).synchronize();
}

std::string Device::pci_id_of(int gpu) {
  using Function = int(char*, int, int);
  auto* const get = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"));
  char text[kPciBytes] = {};
  return get != nullptr && get(text, kPciBytes, gpu) == 0 ? text : "";
}

Device::Device(torch::Device device, bool amp) : device_(device), amp_(amp) {
  if (!is_cpu()) staging_ = std::make_unique<Staging>(device);
}

Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

int Device::visible_gpus() {
  return at::detail::getCUDAHooks().hasCUDA() ? static_cast<int>(torch::cuda::device_count()) : 0;
}

Device Device::open(const std::string& name, int gpu, bool amp) {
  if (name == "cpu") return {torch::Device(torch::kCPU), false};
  if (name != "cuda") {
    throw Error(ErrorKind::kUsage, fmt::format("unknown device '{}'", name), "choose cpu or cuda");
  }
  if (!at::detail::getCUDAHooks().hasCUDA()) {
    throw Error(ErrorKind::kEnvironment, "--device cuda, but this LibTorch was built without CUDA",
                "train with --device cpu, or build against a LibTorch with CUDA");
  }
  const int gpus = visible_gpus();
  if (gpus == 0) {
    throw Error(ErrorKind::kEnvironment, "--device cuda, but CUDA finds no GPU on this host",
                "check nvidia-smi and CUDA_VISIBLE_DEVICES, or train with --device cpu");
  }
  if (gpu >= gpus) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("worker {} on this host needs its own GPU, but only {} {} visible", gpu,
                            gpus, gpus == 1 ? "is" : "are"),
                fmt::format("use --workers {}", gpus));
  }
  const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  runtime().setDevice(device);
  return {device, amp};
}

// bfloat16 has the range of a float, so that no loss has to be scaled.
Device::MixedPrecision::MixedPrecision(const Device& device) : on_(device.amp_) {
  if (on_) begin_autocast_bf16();
}

Device::MixedPrecision::~MixedPrecision() {
  if (on_) end_autocast();
}

}  // namespace lockstep::train
