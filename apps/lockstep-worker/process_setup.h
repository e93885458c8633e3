#pragma once

#include <atomic>

#include "lockstep/comm/rendezvous/placement.h"

namespace lockstep::worker {

/// Prepares this process for training with that many threads: LibTorch's thread pools, and an
/// allocator that keeps freed memory. A step allocates and frees the same large tensors over and
/// over; by default each comes as fresh pages from the kernel, which took a third of the step.
void set_up_process(int threads);

/// Sets what `lockstep train` sets for its workers where something else started them: thread limits
/// and the BLAS kernels that fit the CPU. Libraries read them when they are loaded, so the program
/// restarts itself when something was missing. Throws kEnvironment when that fails.
void prepare_environment(const comm::Placement& place, char** argv);

/// An equal share of the cores, or those this process was bound to.
int threads_by_default(const comm::Placement& place);
/// Whether this host has more ranks than cores.
bool is_oversubscribed(const comm::Placement& place);

/// Ends this process with the one that started it, where nothing else does that: a killed mpirun,
/// or the ssh that provides its standard input.
void end_with_starter(const comm::Placement& place);

/// Set by SIGINT and SIGUSR1; a second one ends the process at once.
const std::atomic<bool>& stop_flag();

}  // namespace lockstep::worker
