#include "lockstep/train/sync/readback.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "lockstep/train/sync/torch_version.h"

namespace lockstep::train {

torch::Tensor page_locked_floats(std::size_t count, torch::Device device) {
  return torch::zeros({static_cast<std::int64_t>(count)},
                      torch::TensorOptions().pinned_memory(!device.is_cpu()));
}

Readback::Readback(std::size_t floats, torch::Device device)
    : device_(device), values_(page_locked_floats(floats, device)), copied_(device.type()) {}

void Readback::queue(std::size_t at, const torch::Tensor& values) {
  values_.narrow(0, static_cast<std::int64_t>(at), values.numel())
      .copy_(values.reshape(-1), /*non_blocking=*/true);
}

void Readback::close() {
  if (!device_.is_cpu()) {
    copied_.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
}

std::span<const float> Readback::wait() const {
  if (!device_.is_cpu()) wait_for(copied_);
  return {values_.data_ptr<float>(), static_cast<std::size_t>(values_.numel())};
}

}  // namespace lockstep::train
