#pragma once

#include <atomic>

namespace lockstep::worker {

/// Makes this process fit for training with that many threads: LibTorch's thread pools, and an
/// allocator that keeps what is freed. A step allocates and frees the same large tensors over and
/// over; by default each comes as fresh pages from the kernel, which took a third of the step.
void set_up_process(int threads);

/// Set by SIGINT; a second one ends the process at once.
const std::atomic<bool>& stop_flag();

}  // namespace lockstep::worker
