#include "host_capacity.h"

#include <algorithm>

#include "lockstep/store/store.h"

namespace lockstep::cli {

std::optional<std::int64_t> workers_that_hosts_hold(const std::string& store_path,
                                                    const std::string& study) {
  store::Store store(store_path);
  store::RunFilter filter;
  filter.state = store::RunState::kDone;
  if (!study.empty()) filter.study = study;
  std::optional<std::int64_t> most;
  for (const store::RunSummary& summary : store.runs(filter)) {
    const store::StoredRun run = store.load(summary.id, store::Store::Steps::kNotCounted);
    const record::RunSpec& spec = run.started.spec;
    const record::Machine& machine = run.started.machine;
    const std::int64_t of_a_host = spec.device == "cpu"
                                       ? machine.cores / std::max(spec.threads_per_worker, 1)
                                       : static_cast<std::int64_t>(machine.gpus.size());
    if (of_a_host < 1 && machine.cores < 1) continue;
    const std::int64_t all = std::max<std::int64_t>(spec.nodes, 1) * of_a_host;
    most = std::max({most.value_or(1), all, static_cast<std::int64_t>(spec.workers)});
  }
  return most;
}

}  // namespace lockstep::cli
