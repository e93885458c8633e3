#pragma once

#include <ATen/autocast_mode.h>
#include <c10/core/Event.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <thread>
#include <utility>

#define LOCKSTEP_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||           \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace lockstep::train {

// What differs between the LibTorch versions that Lockstep builds against (1.13 to 2.x).

/// What keeps a parameter's gradient accumulator alive: a std::shared_ptr in 1.13, a pointer type
/// of LibTorch's own in recent versions.
using GradientAccumulator =
    decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::Tensor&>()));

/// Blocks until the device has reached the event.
inline void wait_for(const c10::Event& event) {
#if LOCKSTEP_TORCH_AT_LEAST(2, 4)
  event.synchronize();
#else
  while (!event.query()) std::this_thread::yield();
#endif
}

/// From here on, operations of GPUs for which 16 bits are enough run in that type.
inline void begin_autocast(at::ScalarType type) {
#if LOCKSTEP_TORCH_AT_LEAST(2, 4)
  at::autocast::set_autocast_dtype(at::kCUDA, type);
  at::autocast::set_autocast_enabled(at::kCUDA, true);
#else
  at::autocast::set_autocast_gpu_dtype(type);
  at::autocast::set_enabled(true);
#endif
}

inline void end_autocast() {
#if LOCKSTEP_TORCH_AT_LEAST(2, 4)
  at::autocast::set_autocast_enabled(at::kCUDA, false);
#else
  at::autocast::set_enabled(false);
#endif
  at::autocast::clear_cache();
}

}  // namespace lockstep::train
