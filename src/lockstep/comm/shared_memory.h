#pragma once

#include <memory>
#include <vector>

#include "lockstep/comm/communicator.h"

namespace lockstep::comm {

struct SharedMemoryOptions {
  int fd = -1;  ///< memfd that all ranks of this host inherited
  int rank = 0;
  int size = 1;
  Seconds timeout{60};
  /// How long a wait spins before it sleeps. Zero when ranks share cores: a spinning rank would
  /// keep the one it waits for from running.
  Seconds spin{50e-6};
  /// What messages call the ranks, where these are a part of a larger run; empty = as they are.
  std::vector<int> world_ranks{};
};

/// The back end for ranks of one host. Gradients live in shared memory; once every rank has handed
/// over a bucket, each adds up its 1/N of it, reading all copies and writing the sum to all.
/// Traffic a rank: S bytes read and S written for a bucket of S bytes, nothing copied. There is no
/// thread: the work is done inside start_sum(), progress() and finish(). Memory of
/// allocate_rounded() is rounded once, when it is handed over; sums are formed and given back as
/// floats.
///
/// Blocks until all ranks have arrived; throws kPeer naming those that did not.
std::unique_ptr<Communicator> make_shared_memory(const SharedMemoryOptions& options);

}  // namespace lockstep::comm
