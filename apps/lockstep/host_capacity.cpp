#include "host_capacity.h"

#include <algorithm>

#include "lockstep/record/host_room.h"
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
    const auto room = record::host_room(run.started.spec, run.started.machine);
    if (room) most = std::max(most.value_or(1), *room);
  }
  return most;
}

}  // namespace lockstep::cli
