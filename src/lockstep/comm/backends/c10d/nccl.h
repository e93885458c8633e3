#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/context.h"

namespace lockstep::comm {

/// Whether this build has it: LibTorch must have been built with CUDA and NCCL.
bool has_nccl();

/// The back end for GPUs: what allocate() returns lies on the GPU of that number on this host, and
/// NCCL sums it there. Throws kEnvironment where has_nccl() is false.
std::unique_ptr<Communicator> make_nccl(const Context& context, int gpu);

}  // namespace lockstep::comm
