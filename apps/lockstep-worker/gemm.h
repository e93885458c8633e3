#pragma once

#include <string>

namespace lockstep::worker {

/// Which library multiplies matrices for LibTorch in this process.
///
/// Debian's LibTorch calls whatever BLAS is installed. The reference BLAS is some 30 times slower
/// than a tuned one, so with it this program answers LibTorch's calls itself, through oneDNN, which
/// LibTorch needs anyway. LOCKSTEP_GEMM=blas leaves them where they are.
struct GemmFacts {
  std::string blas;     ///< "OpenBLAS 0.3.21 (Zen)", "reference BLAS", ...
  bool onednn = false;  ///< calls go to oneDNN instead
};

GemmFacts gemm_facts();

/// Has the installed BLAS use as many threads as LibTorch does. One that has threads of its own
/// (OpenBLAS as Debian builds it) would otherwise start one for each core this process may use.
void limit_blas_threads(int threads);

/// Measured rate of the installed BLAS and of oneDNN for a 768 x 768 x 768 product on one thread,
/// in GFLOP/s; 0 where there is no such function. Takes some tenths of a second.
double blas_gflops();
double onednn_gflops();

}  // namespace lockstep::worker
