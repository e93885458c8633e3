#pragma once

#include <memory>
#include <string>

#include "lockstep/comm/communicator.h"

namespace lockstep::comm {

struct GlooOptions {
  int rank = 0;
  int size = 1;
  /// Folder all ranks see and only they use: addresses are exchanged through a file in it.
  std::string rendezvous_dir;
  /// Address to listen on and to be reached at.
  std::string address = "127.0.0.1";
  Seconds timeout{60};
};

/// The back end that works everywhere: TCP through LibTorch's own c10d, whose threads move the bytes
/// while this one computes. Memory of allocate_rounded() is rounded twice, see rounded_sum.h; half
/// of its bytes move in finish() alone. Blocks until all ranks have connected.
std::unique_ptr<Communicator> make_gloo(const GlooOptions& options);

}  // namespace lockstep::comm
