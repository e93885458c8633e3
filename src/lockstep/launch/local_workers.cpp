#include "lockstep/launch/local_workers.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep::launch {

LocalWorkers::LocalWorkers() : shared_memory_(::memfd_create("lockstep", MFD_CLOEXEC)) {
  if (!shared_memory_) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot create shared memory: {}", std::strerror(errno)));
  }
}

std::vector<ProcessSpec> LocalWorkers::specs(const std::string& program,
                                             const std::vector<std::string>& arguments,
                                             const CorePlan& plan,
                                             const std::vector<std::string>& environment) const {
  std::vector<ProcessSpec> specs;
  for (int rank = 0; rank < plan.workers; ++rank) {
    ProcessSpec spec;
    spec.program = program;
    spec.arguments = arguments;
    spec.environment = environment;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, int>>{
             {"LOCKSTEP_RANK", rank},
             {"LOCKSTEP_WORLD_SIZE", plan.workers},
             {"LOCKSTEP_LOCAL_RANK", rank},
             {"LOCKSTEP_LOCAL_SIZE", plan.workers},
             {"LOCKSTEP_SHM_FD", shared_memory_.get()},
             {"OMP_NUM_THREADS", plan.threads_per_worker},
             {"OPENBLAS_NUM_THREADS", plan.threads_per_worker},
             {"MKL_NUM_THREADS", plan.threads_per_worker}}) {
      spec.environment.push_back(fmt::format("{}={}", name, value));
    }
    spec.environment.push_back("LOCKSTEP_RENDEZVOUS_DIR=" + directory_.path().string());
    spec.cores = plan.cores[static_cast<std::size_t>(rank)];
    spec.inherited = {shared_memory_.get()};
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags) {
  const auto has = [&](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  if (has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl")) return "SkylakeX";
  if (vendor == "AuthenticAMD" && has("avx2")) return "Zen";
  if (has("avx2") && has("fma")) return "Haswell";
  return "";
}

}  // namespace lockstep::launch
