#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/context.h"

namespace lockstep::comm {

/// Gloo through LibTorch's own c10d, whose threads move the data while the caller computes. Sums
/// are formed in the order of a ring; all ranks get the same bits. Memory of allocate_rounded() is
/// rounded twice, see RoundedExchange; half of its bytes move in finish() alone. Collective over
/// the members of the context; blocks until all are connected and authenticated. Throws kPeer.
/// Ignores SIGPIPE in this process unless a handler is set.
std::unique_ptr<Communicator> make_gloo(const Context& context);

}  // namespace lockstep::comm
