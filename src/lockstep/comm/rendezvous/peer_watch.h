#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lockstep::comm {

/// Detects the end of processes of this host through pidfds: also before they are reaped, and
/// unaffected by reused process ids.
class PeerWatch {
 public:
  /// `pids` by rank; 0 for ranks not to be watched.
  explicit PeerWatch(std::span<const pid_t> pids);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Ranks whose process has ended. Waits up to `patience` for a first one.
  std::vector<int> gone(std::chrono::milliseconds patience = {}) const;

 private:
  std::vector<int> fds_;         ///< by rank; -1 = not watched
  std::vector<int> gone_early_;  ///< ended before they could be watched
};

/// "rank 1", "ranks 1 and 3", "ranks 1, 2 and 3".
std::string name_ranks(std::span<const int> ranks);

}  // namespace lockstep::comm
