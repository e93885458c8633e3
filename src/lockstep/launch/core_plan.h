#pragma once

#include <span>
#include <vector>

namespace lockstep::launch {

/// How the cores of this host are divided among its workers.
struct CorePlan {
  int workers = 1;
  int threads_per_worker = 1;
  /// The cores of each worker, disjoint; empty sets when oversubscribed: nothing is pinned then.
  std::vector<std::vector<int>> cores;
  bool oversubscribed = false;
};

/// Divides `available` cores evenly, neighbours together. `workers` 0 means one for each core
/// and `threads` 0 as many for each worker as its share of the cores. Cores that do not divide
/// evenly are left idle, so that all workers are equally fast. Throws kUsage when workers x threads
/// exceed the cores and `oversubscribe` is not set.
CorePlan plan_cores(std::span<const int> available, int workers, int threads, bool oversubscribe);

}  // namespace lockstep::launch
