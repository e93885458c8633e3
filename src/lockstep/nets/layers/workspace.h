#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace lockstep::nets {

/// Memory for the intermediate results of one kernel call, kept for the next: fresh pages cost more
/// than the arithmetic done in them. Grows to the largest request and never shrinks.
class KernelWorkspace {
 public:
  /// At least `count` floats, 64-byte aligned, contents undefined. Valid until the next call.
  float* floats(std::size_t count);

 private:
  std::unique_ptr<float, void (*)(void*)> memory_{nullptr, std::free};
  std::size_t count_ = 0;
};

/// The calling thread's own.
KernelWorkspace& thread_workspace();

}  // namespace lockstep::nets
