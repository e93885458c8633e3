#include "lockstep/record/host_room.h"

#include <algorithm>

namespace lockstep::record {

std::optional<std::int64_t> host_room(const RunSpec& spec, const Machine& machine) {
  const std::int64_t of_a_host = spec.device == "cpu"
                                     ? machine.cores / std::max(spec.threads_per_worker, 1)
                                     : static_cast<std::int64_t>(machine.gpus.size());
  if (of_a_host < 1 && machine.cores < 1) return std::nullopt;
  const std::int64_t of_all = std::max(spec.nodes, 1) * of_a_host;
  return std::max<std::int64_t>(of_all, spec.workers);
}

}  // namespace lockstep::record
