#include "lockstep/nets/layers/workspace.h"

#include <sys/mman.h>

#include <new>

namespace lockstep::nets {

float* KernelWorkspace::floats(std::size_t count) {
  if (count > count_) {
    // On huge pages where the system gives them: the kernels walk 36 matrices at once, more than
    // the TLB has entries for with small pages.
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    const std::size_t bytes = (count * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
    memory_.reset();
    count_ = 0;
    memory_.reset(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)));
    if (!memory_) throw std::bad_alloc();
    madvise(memory_.get(), bytes, MADV_HUGEPAGE);
    count_ = bytes / sizeof(float);
  }
  return memory_.get();
}

KernelWorkspace& thread_workspace() {
  static thread_local KernelWorkspace workspace;
  return workspace;
}

}  // namespace lockstep::nets
