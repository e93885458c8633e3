#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep::comm {

/// Which rank this process is, and how it finds the others. Given by whoever started it.
struct Placement {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  /// A memfd that all workers of this host inherited; absent when there is none.
  std::optional<int> shared_memory_fd;
  /// Folder that only this run's workers use, to exchange addresses.
  std::string rendezvous_dir;
};

using GetEnvironment = std::function<const char*(const char*)>;

/// Reads LOCKSTEP_RANK and its companions; without them, a run of one. Throws kUsage for values that
/// do not fit together.
Placement placement_from_environment(const GetEnvironment& get);

}  // namespace lockstep::comm
