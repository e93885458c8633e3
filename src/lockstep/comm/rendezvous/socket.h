#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/comm/rendezvous/deadline.h"

namespace lockstep::comm {

/// Where a socket can be reached: a numeric address or a host name, and a port.
struct Endpoint {
  std::string host;
  int port = 0;
};

/// Listens on that address, without blocking; port 0 lets the kernel choose one. Throws
/// kEnvironment.
FileDescriptor listen_on(const Endpoint& endpoint);

/// A connection that does not block. Throws kPeer when nothing accepts it before the deadline.
FileDescriptor connect_to(const Endpoint& endpoint, Deadline deadline);

/// The numeric address and port of this end of a socket.
Endpoint local_endpoint(const FileDescriptor& socket);

/// Both block and throw kPeer at the deadline or on a broken connection.
void send_all(const FileDescriptor& socket, std::span<const std::byte> bytes, Deadline deadline);
void receive_all(const FileDescriptor& socket, std::span<std::byte> bytes, Deadline deadline);

/// Sends small messages at once, and detects within about 10 s that the host of the peer is
/// unreachable.
void tune(const FileDescriptor& socket);

}  // namespace lockstep::comm
