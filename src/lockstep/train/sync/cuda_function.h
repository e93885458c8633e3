#pragma once

#include <dlfcn.h>

namespace lockstep::train {

/// A function of the CUDA runtime that LibTorch brings; null where it brings none.
template <class Function>
Function* cuda_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

/// The runtime keeps the last failure, and LibTorch would take it for one of its own next kernel.
inline void forget_cuda_failure() {
  if (auto* const take = cuda_function<int()>("cudaGetLastError")) take();
}

}  // namespace lockstep::train
