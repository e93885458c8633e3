#pragma once

#include <span>
#include <vector>

#include "lockstep/measure/core_map.h"

namespace lockstep::launch {

/// How the cores of this host are divided among its workers.
struct CorePlan {
  int workers = 1;
  int threads_per_worker = 1;
  /// The hardware threads that each worker runs on, disjoint; empty sets when oversubscribed:
  /// nothing is pinned then.
  std::vector<std::vector<int>> cpus;
  bool oversubscribed = false;
};

/// Divides `available` cores evenly: whole cores, of one memory node if they fit into one, spread
/// over the nodes. `workers` 0 means one for each core and `threads` 0 as many for each worker as
/// its share of the cores. Cores that do not divide evenly are left idle, so that all workers are
/// equally fast. More threads than cores share the cores' hardware threads. Throws kUsage when they
/// exceed these too and `oversubscribe` is not set.
CorePlan plan_cores(std::span<const measure::Core> available, int workers, int threads,
                    bool oversubscribe);

/// The same for the cores that this process may use. A control group that allows fewer than all
/// cores limits how many, not which: pinned to the first of them, every container of a host would
/// use the same ones, so nothing is pinned then.
CorePlan plan_usable_cores(int workers, int threads, bool oversubscribe);

}  // namespace lockstep::launch
