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

/// The back end for GPUs: sums go through NCCL, on memory of the device that mirrors what
/// allocate() gives, which is pinned host memory. Addresses are exchanged through
/// `membership`. Throws kUsage where has_nccl() is false.
std::unique_ptr<Communicator> make_nccl(const NcclOptions& options, Membership& membership);

}  // namespace lockstep::comm
