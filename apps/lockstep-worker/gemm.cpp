#include "gemm.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "lockstep/base/clock.h"

namespace {

/// The Fortran interface that LibTorch calls, and oneDNN's row-major one.
using Sgemm = void(const char*, const char*, const int*, const int*, const int*, const float*,
                   const float*, const int*, const float*, const int*, const float*, float*,
                   const int*);
using DnnlSgemm = int(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                      std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);

Sgemm* installed_sgemm() {
  static auto* const function = reinterpret_cast<Sgemm*>(::dlsym(RTLD_NEXT, "sgemm_"));
  return function;
}

DnnlSgemm* dnnl_sgemm() {
  static auto* const function = reinterpret_cast<DnnlSgemm*>(::dlsym(RTLD_DEFAULT, "dnnl_sgemm"));
  return function;
}

bool has(const char* symbol) {
  return ::dlsym(RTLD_DEFAULT, symbol) != nullptr;
}

bool is_reference_blas() {
  return !has("openblas_get_config") && !has("mkl_get_version") &&
         !has("bli_info_get_version_str") && !has("ATL_buildinfo");
}

bool use_onednn() {
  static const bool answer = [] {
    const char* choice = std::getenv("LOCKSTEP_GEMM");
    if (dnnl_sgemm() == nullptr || (choice != nullptr && std::strcmp(choice, "blas") == 0))
      return false;
    return installed_sgemm() == nullptr || is_reference_blas();
  }();
  return answer;
}

/// A column-major product C = A B is the row-major product C' = B' A'.
void onednn_sgemm(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                  const float* alpha, const float* a, const int* lda, const float* b,
                  const int* ldb, const float* beta, float* c, const int* ldc) {
  dnnl_sgemm()(*transb, *transa, *n, *m, *k, *alpha, b, *ldb, a, *lda, *beta, c, *ldc);
}

double measure_gflops(
    const std::function<void(int, const float*, const float*, float*)>& multiply) {
  constexpr int kSize = 768;
  std::vector<float> a(kSize * kSize, 0.5F), b(kSize * kSize, 0.25F), c(kSize * kSize);
  const lockstep::SystemClock clock;
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const auto began = clock.monotonic();
    multiply(kSize, a.data(), b.data(), c.data());
    const double seconds = static_cast<double>(clock.monotonic() - began) * 1e-9;
    best = std::max(best, 2e-9 * kSize * kSize * kSize / seconds);
  }
  return best;
}

}  // namespace

/// Found by the dynamic linker before the installed library's.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c,
                       const int* ldc) {
  if (use_onednn())
    return onednn_sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  installed_sgemm()(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

namespace lockstep::worker {

GemmFacts gemm_facts() {
  GemmFacts facts;
  facts.onednn = use_onednn();
  using Text = const char*();
  if (auto* config = reinterpret_cast<Text*>(::dlsym(RTLD_DEFAULT, "openblas_get_config"))) {
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": name and version are enough.
    const std::string all = config();
    const std::string name = all.substr(0, all.find(' ', all.find(' ') + 1));
    auto* core = reinterpret_cast<Text*>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    facts.blas = core == nullptr ? name : fmt::format("{} ({})", name, core());
  } else if (has("mkl_get_version")) {
    facts.blas = "MKL";
  } else if (has("bli_info_get_version_str")) {
    facts.blas = "BLIS";
  } else if (has("ATL_buildinfo")) {
    facts.blas = "ATLAS";
  } else {
    // A pip install of torch has its own inside, under names that nobody else sees.
    facts.blas = at::hasMKL()                   ? "MKL inside LibTorch"
                 : installed_sgemm() == nullptr ? "built into LibTorch"
                                                : "reference BLAS";
  }
  return facts;
}

void limit_blas_threads(int threads) {
  using SetThreads = void(int);
  if (auto* set =
          reinterpret_cast<SetThreads*>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set(threads);
  }
}

double blas_gflops() {
  if (installed_sgemm() == nullptr) return 0;
  return measure_gflops([](int n, const float* a, const float* b, float* c) {
    const float one = 1, zero = 0;
    installed_sgemm()("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  });
}

double onednn_gflops() {
  if (dnnl_sgemm() == nullptr) return 0;
  return measure_gflops([](int n, const float* a, const float* b, float* c) {
    dnnl_sgemm()('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
  });
}

}  // namespace lockstep::worker
