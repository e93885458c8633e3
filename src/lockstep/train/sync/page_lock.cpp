#include "lockstep/train/sync/page_lock.h"

#include <utility>

#include "lockstep/train/sync/cuda_function.h"

namespace lockstep::train {

PageLock::PageLock(std::span<float> memory, torch::Device device) {
  auto* const lock = cuda_function<int(void*, std::size_t, unsigned)>("cudaHostRegister");
  if (device.is_cpu() || lock == nullptr || memory.empty()) return;
  if (lock(memory.data(), memory.size_bytes(), 0) == 0) {
    memory_ = memory.data();
  } else {
    forget_cuda_failure();
  }
}

PageLock::~PageLock() {
  auto* const unlock = cuda_function<int(void*)>("cudaHostUnregister");
  if (memory_ != nullptr && unlock != nullptr && unlock(memory_) != 0) forget_cuda_failure();
}

PageLock::PageLock(PageLock&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

PageLock& PageLock::operator=(PageLock&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

}  // namespace lockstep::train
