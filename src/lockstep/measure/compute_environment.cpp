#include "lockstep/measure/compute_environment.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>

#include "lockstep/measure/machine.h"

namespace lockstep::measure {
namespace {

/// The BLAS that Debian's alternatives have chosen.
std::filesystem::path system_blas() {
  utsname facts{};
  if (::uname(&facts) != 0) return {};
  return std::filesystem::path("/usr/lib") / (std::string(facts.machine) + "-linux-gnu") /
         "libblas.so.3";
}

}  // namespace

std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags) {
  const auto has = [&](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  if (has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl")) return "SkylakeX";
  if (vendor == "AuthenticAMD" && has("avx2")) return "Zen";
  if (has("avx2") && has("fma")) return "Haswell";
  return "";
}

std::filesystem::path openmp_build_beside(const std::filesystem::path& blas) {
  std::error_code failure;
  const std::filesystem::path in_use = std::filesystem::canonical(blas, failure);
  if (failure || in_use.parent_path().filename() != "openblas-pthread") return {};
  const auto folder = in_use.parent_path().parent_path() / "openblas-openmp";
  return std::filesystem::exists(folder / "libblas.so.3", failure) ? folder
                                                                   : std::filesystem::path();
}

std::vector<std::string> compute_environment() {
  std::vector<std::string> variables;
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr) {
    const CpuFacts cpu = read_cpu();
    const std::string core_type = openblas_core_type(cpu.vendor, cpu.flags);
    if (!core_type.empty()) variables.push_back("OPENBLAS_CORETYPE=" + core_type);
  }
  if (const std::string folder = openmp_build_beside(system_blas()).string(); !folder.empty()) {
    // Behind the folders of the user, who may have put another BLAS there.
    const char* before = std::getenv("LD_LIBRARY_PATH");
    const bool some = before != nullptr && *before != '\0';
    variables.push_back("LD_LIBRARY_PATH=" + (some ? before + (":" + folder) : folder));
  }
  // Tensors on huge pages: on many systems a program gets them only if it asks.
  if (std::getenv("GLIBC_TUNABLES") == nullptr) {
    variables.push_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
  }
  return variables;
}

void set_compute_environment() {
  for (const std::string& variable : compute_environment()) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
}

}  // namespace lockstep::measure
