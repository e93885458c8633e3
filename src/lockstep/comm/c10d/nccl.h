#pragma once

#include <memory>
#include <string>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/membership.h"

namespace lockstep::comm {

struct NcclOptions {
  int rank = 0;
  int size = 1;
  int gpu = 0;  ///< of this host
  Seconds timeout{60};
};

/// Whether this build has it: LibTorch must have been built with CUDA and NCCL.
bool has_nccl();

/// The back end for GPUs: what allocate() gives lies on the rank's GPU, and NCCL sums it there.
/// Addresses are exchanged through `membership`. Throws kEnvironment where has_nccl() is false.
std::unique_ptr<Communicator> make_nccl(const NcclOptions& options, Membership& membership);

}  // namespace lockstep::comm
