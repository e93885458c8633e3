#include "lockstep/base/system/memory_errors.h"

namespace lockstep {

bool reports_lack_of_memory(std::string_view text) {
  for (const std::string_view sign :
       {"std::bad_alloc", "t allocate memory", "Cannot allocate memory", "CUDA out of memory",
        "HIP out of memory", "CUDA error: out of memory", "'out of memory'",
        "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED", "Memory allocation still failed",
        "could not create a memory"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace lockstep
