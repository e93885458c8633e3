#include "lockstep/train/sync/device.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <map>
#include <vector>

#include "lockstep/base/error.h"

// A LibTorch without CUDA has neither the headers nor the functions: a definition of the build
// distinguishes them.
#ifdef LOCKSTEP_HAS_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace lockstep::train {

#ifdef LOCKSTEP_HAS_CUDA

namespace {

constexpr bool kBuiltWithCuda = true;

/// Of this thread; NCCL and LibTorch ask for it.
void make_current(torch::Device device) {
  c10::cuda::set_device(device.index());
}

}  // namespace

/// Pinned buffers that batches pass through, and the stream they are copied on. Buffers of a shape
/// are used in turn; one is free again when the copy out of it is done.
struct Device::Staging {
  static constexpr std::size_t kBuffers = 3;
  struct Buffer {
    torch::Tensor pinned;
    at::cuda::CUDAEvent copied;
  };
  struct Ring {
    std::vector<Buffer> buffers;
    std::size_t next = 0;
  };

  explicit Staging(torch::Device device)
      : stream(c10::cuda::getStreamFromPool(false, device.index())) {}

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
    buffer.copied.synchronize();
    return buffer;
  }

  c10::cuda::CUDAStream stream;
  std::map<std::pair<std::int64_t, int>, Ring> rings;
};

torch::Tensor Device::take(const torch::Tensor& host) {
  if (is_cpu()) return host;
  auto& buffer = staging_->buffer_for(host);
  const auto pinned = buffer.pinned.as_strided(host.sizes(), host.strides());
  pinned.copy_(host);
  torch::Tensor arrived;
  {
    const c10::cuda::CUDAStreamGuard on_copy_stream(staging_->stream);
    arrived = pinned.to(device_, /*non_blocking=*/true);
    buffer.copied.record(staging_->stream);
  }
  const auto computing = c10::cuda::getCurrentCUDAStream(device_.index());
  buffer.copied.block(computing);
  arrived.record_stream(computing);
  return arrived;
}

void Device::wait() const {
  if (!is_cpu()) c10::cuda::getCurrentCUDAStream(device_.index()).synchronize();
}

#else

namespace {

constexpr bool kBuiltWithCuda = false;

void make_current(torch::Device) {}

}  // namespace

struct Device::Staging {
  explicit Staging(torch::Device) {}
};

torch::Tensor Device::take(const torch::Tensor& host) {
  return host.to(device_);
}

void Device::wait() const {}

#endif

Device::Device(torch::Device device, bool amp) : device_(device), amp_(amp) {
  if (!is_cpu()) staging_ = std::make_unique<Staging>(device);
}

Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Device Device::open(const std::string& name, int local_rank, bool amp) {
  if (name == "cpu") return {torch::Device(torch::kCPU), false};
  if (name != "cuda") {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a device", name), "choose cpu or cuda");
  }
  if (!kBuiltWithCuda || !torch::cuda::is_available()) {
    throw Error(
        ErrorKind::kEnvironment,
        kBuiltWithCuda ? "--device cuda, but CUDA finds no GPU on this host"
                       : "--device cuda, but this lockstep was built without CUDA",
        "train with --device cpu, or build against a LibTorch with CUDA on a host with a GPU");
  }
  const auto gpus = static_cast<int>(torch::cuda::device_count());
  if (local_rank >= gpus) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("worker {} of this host needs a GPU of its own, but the host has {}",
                            local_rank, gpus),
                fmt::format("use --workers {}", gpus));
  }
  const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(local_rank));
  make_current(device);
  return {device, amp};
}

// bfloat16 has the range of a float, so that no loss has to be scaled.
Device::MixedPrecision::MixedPrecision(const Device& device) : on_(device.amp_) {
  if (!on_) return;
  at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
  at::autocast::set_enabled(true);
}

Device::MixedPrecision::~MixedPrecision() {
  if (!on_) return;
  at::autocast::set_enabled(false);
  at::autocast::clear_cache();
}

}  // namespace lockstep::train
