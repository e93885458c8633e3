#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/context.h"

namespace lockstep::comm {

class Session;

/// The back end for ranks of one host. Gradients live in shared memory; once every rank has handed
/// over a bucket, each rank sums its shares of it, 1/N, reading all copies and writing the sums to
/// all ranks or to its own copy alone. Traffic per rank: S bytes read and S, or S/N, written for a
/// bucket of S bytes, nothing copied. There is no thread: the work is done inside start_sum(),
/// progress() and finish(). Sums are formed in rank order. Memory of allocate_rounded() is rounded
/// once, when it is handed over; sums are formed and returned as floats.
///
/// `memory` is a memfd of any size that all ranks of the group have open; it may be closed
/// afterwards. Blocks until all ranks have arrived; throws kPeer naming those that did not.
std::unique_ptr<Communicator> make_shared_memory(const Context& context, int memory);

/// The same among the ranks of this host, which create the memory together. Collective over all
/// ranks of the session; throws kEnvironment where a rank may not open the memory of another.
std::unique_ptr<Communicator> make_host_memory(Session& session);

}  // namespace lockstep::comm
