#pragma once

#include <memory>
#include <string>

#include "lockstep/comm/communicator.h"

namespace lockstep::comm {

struct NcclOptions {
  int rank = 0;
  int size = 1;
  int gpu = 0;  ///< of this host
  /// Folder all ranks see and only they use: addresses are exchanged through a file in it.
  std::string rendezvous_dir;
  Seconds timeout{60};
};

/// Whether this build has it: LibTorch must have been built with CUDA and NCCL.
bool has_nccl();

/// The back end for GPUs: sums go through NCCL, on memory of the device that mirrors what
/// allocate() gives, which is pinned host memory. Throws kUsage where has_nccl() is false.
std::unique_ptr<Communicator> make_nccl(const NcclOptions& options);

}  // namespace lockstep::comm
