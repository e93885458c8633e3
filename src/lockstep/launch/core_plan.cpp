#include "lockstep/launch/core_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

constexpr char kOversubscribeHint[] = "add --oversubscribe; timings are then marked unreliable";

std::string cores_of_host(int cores) {
  return cores == 1 ? "the 1 core of this host" : fmt::format("the {} cores of this host", cores);
}

}  // namespace

CorePlan plan_cores(std::span<const int> available, int workers, int threads, bool oversubscribe) {
  const int cores = static_cast<int>(available.size());
  if (cores == 0) throw Error(ErrorKind::kEnvironment, "no cores are available to this process");
  CorePlan plan;
  plan.workers = workers > 0 ? workers : std::max(1, cores / std::max(1, threads));
  plan.threads_per_worker = threads > 0 ? threads : std::max(1, cores / plan.workers);

  // 64 bits: both factors may be large numbers from the command line.
  const long long wanted = static_cast<long long>(plan.workers) * plan.threads_per_worker;
  plan.oversubscribed = wanted > cores;
  plan.cores.resize(static_cast<std::size_t>(plan.workers));
  if (plan.oversubscribed) {
    if (oversubscribe) return plan;
    if (plan.workers > cores) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--workers {} exceeds {}", plan.workers, cores_of_host(cores)),
                  kOversubscribeHint);
    }
    throw Error(ErrorKind::kUsage,
                fmt::format("{} workers with --threads {} exceed {}", plan.workers,
                            plan.threads_per_worker, cores_of_host(cores)),
                kOversubscribeHint);
  }
  auto next = available.begin();
  for (std::vector<int>& share : plan.cores) {
    share.assign(next, next + plan.threads_per_worker);
    next += plan.threads_per_worker;
  }
  return plan;
}

}  // namespace lockstep::launch
