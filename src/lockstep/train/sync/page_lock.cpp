#include "lockstep/train/sync/page_lock.h"

#include <dlfcn.h>

#include <utility>

namespace lockstep::train {
namespace {

/// A function of the CUDA runtime that LibTorch brings; null where it brings none.
template <class Function>
Function* of_cuda(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

/// The runtime keeps the last failure, and LibTorch would take it for one of its own next kernel.
void forget_failure() {
  if (auto* const take = of_cuda<int()>("cudaGetLastError")) take();
}

}  // namespace

PageLock::PageLock(std::span<float> memory, torch::Device device) {
  auto* const lock = of_cuda<int(void*, std::size_t, unsigned)>("cudaHostRegister");
  if (device.is_cpu() || lock == nullptr || memory.empty()) return;
  if (lock(memory.data(), memory.size_bytes(), 0) == 0) {
    memory_ = memory.data();
  } else {
    forget_failure();
  }
}

PageLock::~PageLock() {
  auto* const unlock = of_cuda<int(void*)>("cudaHostUnregister");
  if (memory_ != nullptr && unlock != nullptr && unlock(memory_) != 0) forget_failure();
}

PageLock::PageLock(PageLock&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

PageLock& PageLock::operator=(PageLock&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

}  // namespace lockstep::train
