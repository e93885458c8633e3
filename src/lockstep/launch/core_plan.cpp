#include "lockstep/launch/core_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

namespace lockstep::launch {
namespace {

constexpr char kOversubscribeHint[] = "add --oversubscribe; timings are then marked unreliable";

std::string size_of_host(std::span<const measure::Core> cores) {
  const int threads = measure::hardware_threads(cores);
  std::string text = "the " + counted(std::ssize(cores), "core");
  if (threads > static_cast<int>(cores.size()))
    text += fmt::format(" ({} hardware threads)", threads);
  return text + " of this host";
}

/// Whole cores: `count` for each worker.
std::vector<std::vector<int>> share_cores(std::span<const measure::Core> available, int workers,
                                          int count) {
  std::map<int, std::deque<measure::Core>> nodes;
  for (const measure::Core& core : available) nodes[core.node].push_back(core);
  const auto has_more = [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  };
  std::vector<std::vector<int>> shares(static_cast<std::size_t>(workers));
  for (std::vector<int>& share : shares) {
    for (int i = 0; i < count;) {
      // The node with the most cores left; what it lacks comes from the next.
      auto& cores = std::max_element(nodes.begin(), nodes.end(), has_more)->second;
      for (; i < count && !cores.empty(); ++i) {
        const std::vector<int>& threads = cores.front().threads;
        share.insert(share.end(), threads.begin(), threads.end());
        cores.pop_front();
      }
    }
  }
  return shares;
}

/// Hardware threads: `count` for each worker, those of a core together.
std::vector<std::vector<int>> share_threads(std::span<const measure::Core> available, int workers,
                                            int count) {
  std::vector<int> threads;
  for (const measure::Core& core : available)
    threads.insert(threads.end(), core.threads.begin(), core.threads.end());
  std::vector<std::vector<int>> shares(static_cast<std::size_t>(workers));
  auto next = threads.begin();
  for (std::vector<int>& share : shares) {
    share.assign(next, next + count);
    next += count;
  }
  return shares;
}

}  // namespace

CorePlan plan_cores(std::span<const measure::Core> available, int workers, int threads,
                    bool oversubscribe) {
  const int cores = static_cast<int>(available.size());
  if (cores == 0) throw Error(ErrorKind::kEnvironment, "no cores are available to this process");
  CorePlan plan;
  plan.workers = workers > 0 ? workers : std::max(1, cores / std::max(1, threads));
  plan.threads_per_worker = threads > 0 ? threads : std::max(1, cores / plan.workers);

  // 64 bits: both factors may be large numbers from the command line.
  const long long wanted = static_cast<long long>(plan.workers) * plan.threads_per_worker;
  if (wanted <= cores) {
    plan.cpus = share_cores(available, plan.workers, plan.threads_per_worker);
  } else if (wanted <= measure::hardware_threads(available)) {
    plan.cpus = share_threads(available, plan.workers, plan.threads_per_worker);
  } else if (oversubscribe) {
    plan.oversubscribed = true;
    plan.cpus.resize(static_cast<std::size_t>(plan.workers));
  } else if (plan.threads_per_worker == 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--workers {} exceeds {}", plan.workers, size_of_host(available)),
                kOversubscribeHint);
  } else {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} workers with --threads {} exceed {}", plan.workers,
                            plan.threads_per_worker, size_of_host(available)),
                kOversubscribeHint);
  }
  return plan;
}

CorePlan plan_usable_cores(int workers, int threads, bool oversubscribe) {
  const std::vector<measure::Core> usable = measure::usable_cores();
  CorePlan plan = plan_cores(usable, workers, threads, oversubscribe);
  if (usable.size() < measure::cores_of(measure::affinity_threads()).size()) {
    for (std::vector<int>& share : plan.cpus) share.clear();
  }
  return plan;
}

}  // namespace lockstep::launch
