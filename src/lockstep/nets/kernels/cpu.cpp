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

bool cpu_has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}

}  // namespace lockstep::nets::kernels
