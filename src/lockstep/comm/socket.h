#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "lockstep/base/units.h"

namespace lockstep::comm {

using Deadline = std::chrono::steady_clock::time_point;

Deadline after(Seconds time);

/// Where a socket can be reached: a numeric address or a host name, and a port.
struct Endpoint {
  std::string host;
  int port = 0;

  /// "10.0.0.1 1234"; parse() is the inverse and throws kPeer for other text.
  std::string text() const;
  static Endpoint parse(const std::string& text);
};

/// Owns one TCP socket that does not block. Movable.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { reset(); }

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();
  /// Gives the descriptor up to somebody who will close it.
  int release() { return std::exchange(fd_, -1); }

  /// The numeric address and port of this end.
  Endpoint local() const;

  /// Both throw kPeer at the deadline, on a broken connection, or when `cancelled` throws; it is
  /// called now and then while they wait.
  void send(std::span<const std::byte> bytes, Deadline deadline,
            const std::function<void()>& cancelled = {}) const;
  void receive(std::span<std::byte> bytes, Deadline deadline,
               const std::function<void()>& cancelled = {}) const;

 private:
  int fd_ = -1;
};

/// Listens on that address; port 0 lets the kernel choose. Throws kEnvironment when it cannot.
Socket listen_on(const Endpoint& endpoint);

/// Throws kPeer when nobody answers there in time.
Socket connect_to(const Endpoint& endpoint, Deadline deadline);

/// Sends what is written at once, and notices a peer whose host is gone within about 10 s.
void tune(const Socket& socket);

}  // namespace lockstep::comm
