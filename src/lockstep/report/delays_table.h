#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/collect/run_digest.h"
#include "lockstep/record/run_spec.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// What a run had to wait for beyond its own work.
struct RunDelays {
  RunDelays(const record::RunSpec& spec, const std::optional<analyze::SlowestRank>& slowest_rank)
      : workers(spec.workers),
        batch_per_worker(spec.batch_per_worker),
        nodes(spec.nodes),
        queue_wait_s(spec.queue_wait_s),
        slowest(slowest_rank) {}

  int workers;
  std::int64_t batch_per_worker;
  int nodes;
  double queue_wait_s;  ///< negative: it did not go through a queue
  std::optional<analyze::SlowestRank> slowest;
};

/// Of the runs of our own among these.
std::vector<RunDelays> delays_of(std::span<const collect::RunDigest> runs);

/// Time in the queue of a batch system and ranks that keep the others waiting, one row per
/// configuration. Nothing if no run was in a queue and no rank is slow: the last of its peers in
/// at least half again as many steps as chance would make it, at a cost of 5 % of the step or more.
std::optional<Table> delays_table(std::span<const RunDelays> runs);

}  // namespace lockstep::report
