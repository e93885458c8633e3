#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::measure {

/// The OPENBLAS_CORETYPE that fits a CPU. OpenBLAS chooses by model number and falls back to
/// kernels without vector units on unknown models; the flags of the CPU show what it really has.
/// Empty when they show nothing better than the fallback.
std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags);

/// Debian installs OpenBLAS with threads of its own and with those of OpenMP, which LibTorch uses,
/// in sibling folders. Of `blas`, the library in use, the folder of the second where that is the
/// first; empty otherwise. Two sets of threads that spin while the other set computes make a worker
/// of two threads slower than one of a single thread.
std::filesystem::path openmp_build_beside(const std::filesystem::path& blas);

/// What a process that computes on this host is to be started with, as NAME=VALUE: the kernels of
/// OpenBLAS that fit the CPU, its build for OpenMP, and huge pages for what malloc() returns. What
/// the user has set stays.
std::vector<std::string> compute_environment();

/// Sets them in this process, for those that it starts.
void set_compute_environment();

}  // namespace lockstep::measure
