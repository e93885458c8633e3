#include "blas.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace {

constexpr char kReferenceBlas[] = "reference BLAS";

/// The Fortran interface that LibTorch calls, and oneDNN's row-major one.
using Sgemm = void(const char*, const char*, const int*, const int*, const int*, const float*,
                   const float*, const int*, const float*, const int*, const float*, float*,
                   const int*);
using DnnlSgemm = int(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                      std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);

Sgemm* blas_sgemm() {
  static auto* const function = reinterpret_cast<Sgemm*>(::dlsym(RTLD_DEFAULT, "sgemm_"));
  return function;
}

DnnlSgemm* dnnl_sgemm() {
  static auto* const function = reinterpret_cast<DnnlSgemm*>(::dlsym(RTLD_DEFAULT, "dnnl_sgemm"));
  return function;
}

bool has(const char* symbol) {
  return ::dlsym(RTLD_DEFAULT, symbol) != nullptr;
}

/// Processor time of this thread: other programs that compete for the cores do not count.
double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double measure_gflops(
    const std::function<void(int, const float*, const float*, float*)>& multiply) {
  constexpr int kSize = 768;
  std::vector<float> a(kSize * kSize, 0.5F), b(kSize * kSize, 0.25F), c(kSize * kSize);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const double began = thread_seconds();
    multiply(kSize, a.data(), b.data(), c.data());
    best = std::max(best, 2e-9 * kSize * kSize * kSize / (thread_seconds() - began));
  }
  return best;
}

}  // namespace

namespace lockstep::worker {

std::string blas_name() {
  using Text = const char*();
  if (auto* config = reinterpret_cast<Text*>(::dlsym(RTLD_DEFAULT, "openblas_get_config"))) {
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": name and version are enough.
    const std::string all = config();
    const std::string name = all.substr(0, all.find(' ', all.find(' ') + 1));
    auto* core = reinterpret_cast<Text*>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    if (core == nullptr) return name;
    auto* parallel = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "openblas_get_parallel"));
    constexpr std::array<const char*, 3> kThreads{"one thread", "pthreads", "OpenMP"};
    const int kind = parallel == nullptr ? -1 : parallel();
    if (kind < 0 || kind >= static_cast<int>(kThreads.size())) {
      return fmt::format("{} ({})", name, core());
    }
    return fmt::format("{} ({}, {})", name, core(), kThreads[static_cast<std::size_t>(kind)]);
  }
  if (has("mkl_get_version")) return "MKL";
  if (has("bli_info_get_version_str")) return "BLIS";
  if (has("ATL_buildinfo")) return "ATLAS";
  // A pip install of torch has its own inside, under names that are not exported.
  if (at::hasMKL()) return "MKL inside LibTorch";
  return blas_sgemm() == nullptr ? "built into LibTorch" : kReferenceBlas;
}

bool is_reference_blas() {
  return blas_name() == kReferenceBlas;
}

void limit_blas_threads(int threads) {
  using SetThreads = void(int);
  if (auto* set =
          reinterpret_cast<SetThreads*>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set(threads);
  }
}

double blas_gflops() {
  if (blas_sgemm() == nullptr) return 0;
  return measure_gflops([](int n, const float* a, const float* b, float* c) {
    const float one = 1, zero = 0;
    blas_sgemm()("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  });
}

double onednn_gflops() {
  if (dnnl_sgemm() == nullptr) return 0;
  return measure_gflops([](int n, const float* a, const float* b, float* c) {
    dnnl_sgemm()('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
  });
}

}  // namespace lockstep::worker
