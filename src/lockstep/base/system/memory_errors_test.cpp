#include "lockstep/base/system/memory_errors.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(MemoryErrors, OfEveryLibraryAreRecognised) {
  for (const char* text :
       {"std::bad_alloc",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes",
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity)",
        "CUDA error: out of memory", "Last error:\nCuda failure 2 'out of memory'",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"}) {
    EXPECT_TRUE(reports_lack_of_memory(text)) << text;
  }
}

TEST(MemoryErrors, OtherErrorsOfADeviceAreNot) {
  for (const char* text : {"CUDA error: an illegal memory access was encountered",
                           "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
                           "CUDA error: invalid device ordinal", "peak memory 12.1 GB"}) {
    EXPECT_FALSE(reports_lack_of_memory(text)) << text;
  }
}

}  // namespace
}  // namespace lockstep
