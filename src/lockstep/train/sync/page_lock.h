#pragma once

#include <torch/torch.h>

#include <span>

namespace lockstep::train {

/// While it lives, memory of the host that others allocated is page-locked, so that a GPU copies it
/// directly, while the host goes on. Does nothing for a CPU, or where the CUDA runtime cannot.
class PageLock {
 public:
  PageLock() = default;
  PageLock(std::span<float> memory, torch::Device device);
  ~PageLock();
  PageLock(PageLock&& other) noexcept;
  PageLock& operator=(PageLock&& other) noexcept;

  bool locked() const { return memory_ != nullptr; }

 private:
  void* memory_ = nullptr;
};

}  // namespace lockstep::train
