#include "lockstep/nets/kernels/cpu.h"

namespace lockstep::nets::kernels {

// In a separate file: it must run on a CPU that lacks what the others are compiled for.
bool cpu_supported() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(__aarch64__)
  return true;  // every such CPU has vectors of four floats and the multiply-add
#else
  return false;
#endif
}

int cpu_lanes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return 16;
  }
#endif
  return 8;
}

}  // namespace lockstep::nets::kernels
