#pragma once

#include <memory>
#include <string>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/membership.h"

namespace lockstep::comm {

struct GlooOptions {
  int rank = 0;
  int size = 1;
  /// Address to listen on and to be reached at.
  std::string address = "127.0.0.1";
  /// What each rank proves to know to each other once they are connected.
  JobSecret secret{};
  Seconds timeout{60};
};

/// Gloo through LibTorch's own c10d, whose threads move the bytes while this one computes, over
/// connections that the ranks have proved to each other: see proved_device.h. Where the build has
/// no such device, Gloo connects by itself and lets anybody in, and who takes a rank's place fails
/// the proof that follows. Memory of allocate_rounded() is rounded twice, see rounded_sum.h; half
/// of its bytes move in finish() alone. Blocks until all ranks have connected.
std::unique_ptr<Communicator> make_gloo(const GlooOptions& options, Membership& membership);

}  // namespace lockstep::comm
