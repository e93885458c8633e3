#include "lockstep/nets/avx2/cpu.h"

namespace lockstep::nets::avx2 {

// In a separate file: it must run on a CPU that lacks what the others are compiled for.
bool cpu_supported() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
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

}  // namespace lockstep::nets::avx2
