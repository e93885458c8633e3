#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/context.h"

namespace lockstep::comm {

/// Whether this build has it: LibTorch must have been built with CUDA and NCCL.
bool has_nccl();

/// The back end for GPUs: what allocate() returns lies on the GPU of that number on this host, and
/// NCCL sums it there. Memory of allocate_rounded() is summed in 16 bits, as NCCL does it: rounded
/// once by each rank before it is sent and again after each addition, N times for N ranks. Throws
/// kEnvironment where has_nccl() is false.
std::unique_ptr<Communicator> make_nccl(const Context& context, int gpu);

}  // namespace lockstep::comm
