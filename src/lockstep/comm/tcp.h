#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/tcp_mesh.h"

namespace lockstep::comm {

/// The back end between hosts. Every rank owns 1/N of a bucket: it gets that part from all others,
/// adds it up in rank order and sends the sum to all. Two rounds and, as with a ring, 2(N-1)/N S
/// bytes out of and into every rank for a bucket of S bytes; sums have the same bits as those of
/// ranks that share memory. A thread moves the bytes while the caller computes. Memory of
/// allocate_rounded() is rounded twice: before the sum and after it.
///
/// Blocks until all ranks are connected.
std::unique_ptr<Communicator> make_tcp(const TcpMesh::Options& options, Membership& membership);

}  // namespace lockstep::comm
