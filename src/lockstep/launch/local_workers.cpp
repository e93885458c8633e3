#include "lockstep/launch/local_workers.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/base/system/random_bytes.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::launch {

namespace environment = record::worker_environment;

LocalWorkers::LocalWorkers()
    : shared_memory_(::memfd_create("lockstep", MFD_CLOEXEC)), secret_(make_secret()) {
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
             {environment::kRank, rank},
             {environment::kWorldSize, plan.workers},
             {environment::kLocalRank, rank},
             {environment::kLocalSize, plan.workers},
             {environment::kSharedMemory, shared_memory_.get()},
             {"OMP_NUM_THREADS", plan.threads_per_worker},
             {"OPENBLAS_NUM_THREADS", plan.threads_per_worker},
             {"MKL_NUM_THREADS", plan.threads_per_worker}}) {
      spec.environment.push_back(fmt::format("{}={}", name, value));
    }
    spec.environment.push_back(fmt::format("{}={}", environment::kSecret, secret_));
    spec.cpus = plan.cpus[static_cast<std::size_t>(rank)];
    spec.inherited = {shared_memory_.get()};
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::string make_secret() {
  return random_hex(32);
}

}  // namespace lockstep::launch
