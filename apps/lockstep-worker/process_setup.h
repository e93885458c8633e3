#pragma once

#include <atomic>

#include "lockstep/comm/placement.h"

namespace lockstep::worker {

/// Makes this process fit for training with that many threads: LibTorch's thread pools, and an
/// allocator that keeps what is freed. A step allocates and frees the same large tensors over and
/// over; by default each comes as fresh pages from the kernel, which took a third of the step.
void set_up_process(int threads);

/// What `lockstep train` gives its workers, for those that others started: thread limits and the
/// BLAS kernels that fit the CPU. Libraries read them when they are loaded, so the program is
/// started once more when something was missing. Throws kEnvironment when that fails.
void prepare_environment(const comm::Placement& place, char** argv);

/// An equal share of the cores, or those this process was bound to.
int threads_by_default(const comm::Placement& place);
/// Whether the ranks of this host are more than its cores, as far as can be determined.
bool is_oversubscribed(const comm::Placement& place);

/// Sees to it that this process does not outlive who started it, where nobody else does: mpirun
/// that was killed, or the ssh whose standard input it was given.
void tie_to_starter(const comm::Placement& place);

/// Set by SIGINT and SIGUSR1; a second one ends the process at once.
const std::atomic<bool>& stop_flag();

}  // namespace lockstep::worker
