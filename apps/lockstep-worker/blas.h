#pragma once

#include <string>

namespace lockstep::worker {

/// The library that multiplies matrices for LibTorch in this process: "OpenBLAS 0.3.21 (Zen)",
/// "MKL", "reference BLAS", ... Debian's LibTorch calls whichever BLAS is installed.
std::string blas_name();

/// Whether that is the reference BLAS, about 30 times slower than a tuned one.
bool is_reference_blas();

/// Has the installed BLAS use as many threads as LibTorch does. A BLAS with its own threads
/// (OpenBLAS as Debian builds it) would otherwise start one for each core this process may use.
void limit_blas_threads(int threads);

/// Measured rate of the installed BLAS and of oneDNN for a 768 x 768 x 768 product on one thread,
/// in GFLOP/s; 0 if there is no such function. Takes some tenths of a second.
double blas_gflops();
double onednn_gflops();

}  // namespace lockstep::worker
