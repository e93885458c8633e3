#include "lockstep/train/sync/device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/train/sync/cuda_function.h"
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

/// Why the CUDA runtime shows no GPU, for example that its driver is too old; empty if it does not
/// say.
std::string reason_for_no_gpu() {
  auto* const count = cuda_function<int(int*)>("cudaGetDeviceCount");
  auto* const text_of = cuda_function<const char*(int)>("cudaGetErrorString");
  int gpus = 0;
  const int failure = count != nullptr ? count(&gpus) : 0;
  if (failure != 0) forget_cuda_failure();
  return failure != 0 && text_of != nullptr ? fmt::format(" ({})", text_of(failure)) : "";
}

}  // namespace

std::function<std::shared_ptr<void>(std::size_t)> Device::page_locked_memory() const {
  if (is_cpu()) return {};
  return [](std::size_t bytes) {
    const auto memory =
        torch::empty({static_cast<std::int64_t>(bytes)},
                     torch::TensorOptions().dtype(torch::kByte).pinned_memory(true));
    return std::shared_ptr<void>(memory.data_ptr(), [memory](void*) {});
  };
}

Device::Shipment Device::ship(const std::vector<torch::Tensor>& host) {
  if (is_cpu()) return {host, nullptr};
  Shipment shipment{{}, std::make_shared<c10::Event>(torch::kCUDA)};
  const c10::StreamGuard on_copy_stream(*copying_);
  for (const torch::Tensor& tensor : host) {
    shipment.tensors.push_back(tensor.to(device_, /*non_blocking=*/true));
  }
  shipment.copied->record(*copying_);
  return shipment;
}

void Device::receive(const Shipment& shipment) {
  if (shipment.copied == nullptr) return;
  const c10::Stream computing = runtime().getStream(device_);
  shipment.copied->block(computing);
  for (const torch::Tensor& tensor : shipment.tensors) tensor.record_stream(computing);
}

bool Device::left(const Shipment& shipment) {
  return shipment.copied == nullptr || shipment.copied->query();
}

void Device::wait_until_left(const Shipment& shipment) {
  if (shipment.copied != nullptr) wait_for(*shipment.copied);
}

void Device::wait() const {
  if (!is_cpu()) runtime().getStream(device_).synchronize();
}

std::string Device::pci_id_of(int gpu) {
  auto* const get = cuda_function<int(char*, int, int)>("cudaDeviceGetPCIBusId");
  char text[kPciBytes] = {};
  return get != nullptr && get(text, kPciBytes, gpu) == 0 ? text : "";
}

int Device::compute_capability() const {
  constexpr int kMajor = 75, kMinor = 76;  // of cudaDeviceAttr
  auto* const get = cuda_function<int(int*, int, int)>("cudaDeviceGetAttribute");
  int major = 0, minor = 0;
  if (is_cpu() || get == nullptr || get(&major, kMajor, device_.index()) != 0 ||
      get(&minor, kMinor, device_.index()) != 0) {
    return 0;
  }
  return 10 * major + minor;
}

Device::Device(torch::Device device, bool amp) : device_(device), amp_(amp) {
  if (!is_cpu()) copying_ = runtime().getStreamFromGlobalPool(device);
}

void Device::make_current(int gpu) {
  runtime().setDevice({torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)});
}

int Device::visible_gpus() {
  return at::detail::getCUDAHooks().hasCUDA() ? static_cast<int>(torch::cuda::device_count()) : 0;
}

void Device::require_gpu(int gpu) {
  const int gpus = visible_gpus();
  // LibTorch's hasCUDA() is false on a host without a GPU, too.
  if (gpus == 0 && cuda_function<int(int*)>("cudaGetDeviceCount") == nullptr) {
    throw Error(ErrorKind::kEnvironment, "--device cuda, but this LibTorch was built without CUDA",
                "train with --device cpu, or build against a LibTorch with CUDA");
  }
  if (gpus == 0) {
    throw Error(ErrorKind::kEnvironment,
                "--device cuda, but CUDA finds no GPU on this host" + reason_for_no_gpu(),
                "check nvidia-smi and CUDA_VISIBLE_DEVICES, or train with --device cpu");
  }
  if (gpu >= gpus) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("worker {} on this host needs its own GPU, but only {} {} visible", gpu,
                            gpus, gpus == 1 ? "is" : "are"),
                fmt::format("use --workers {}", gpus));
  }
}

Device Device::open(const std::string& name, int gpu, bool amp) {
  if (name == "cpu") return {torch::Device(torch::kCPU), false};
  if (name != "cuda") {
    throw Error(ErrorKind::kUsage, fmt::format("unknown device '{}'", name), "choose cpu or cuda");
  }
  require_gpu(gpu);
  make_current(gpu);
  return {torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)), amp};
}

Device::MixedPrecision::MixedPrecision(const Device& device) : on_(device.amp_) {
  if (on_) begin_autocast(device.amp_type_);
}

Device::MixedPrecision::~MixedPrecision() {
  if (on_) end_autocast();
}

}  // namespace lockstep::train
