#include "lockstep/comm/rendezvous/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

constexpr int kBacklog = 512;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses addresses_of(const Endpoint& endpoint, int flags, ErrorKind kind) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int problem = ::getaddrinfo(endpoint.host.empty() ? nullptr : endpoint.host.c_str(),
                                    std::to_string(endpoint.port).c_str(), &wanted, &found);
  if (problem != 0) {
    throw Error(kind,
                fmt::format("host {} has no address: {}", endpoint.host, ::gai_strerror(problem)),
                "set LOCKSTEP_RENDEZVOUS=ADDRESS:PORT");
  }
  return {found, &::freeaddrinfo};
}

Error broken(const char* doing) {
  return Error(ErrorKind::kPeer, fmt::format("{}: {}", doing, std::strerror(errno)));
}

/// False at the deadline.
bool wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now());
    if (left.count() < 0) return false;
    pollfd wanted{fd, events, 0};
    if (::poll(&wanted, 1, static_cast<int>(left.count()) + 1) > 0) return true;
  }
}

/// Empty when nothing at this address answers in time.
FileDescriptor connect_address(const addrinfo& address, Deadline deadline) {
  FileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS || !wait_for(socket.get(), POLLOUT, deadline)) return {};
  int problem = 0;
  socklen_t length = sizeof problem;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &length);
  if (problem == 0) return socket;
  errno = problem;
  return {};
}

void set_option(const FileDescriptor& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

}  // namespace

Endpoint local_endpoint(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket.get(), any, &length) != 0 ||
      ::getnameinfo(any, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    throw broken("cannot read the address of a socket");
  }
  return {host, std::atoi(port)};
}

void send_all(const FileDescriptor& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (wait_for(socket.get(), POLLOUT, deadline)) continue;
      throw Error(ErrorKind::kPeer, "the peer did not accept the data in time");
    } else if (errno != EINTR) {
      throw broken("the connection broke");
    }
  }
}

void receive_all(const FileDescriptor& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      throw Error(ErrorKind::kPeer, "the connection was closed");
    } else if (errno == EAGAIN) {
      if (wait_for(socket.get(), POLLIN, deadline)) continue;
      throw Error(ErrorKind::kPeer, "the peer sent nothing in time");
    } else if (errno != EINTR) {
      throw broken("the connection broke");
    }
  }
}

FileDescriptor listen_on(const Endpoint& endpoint) {
  const Addresses addresses =
      addresses_of(endpoint, AI_PASSIVE | AI_NUMERICSERV, ErrorKind::kEnvironment);
  FileDescriptor socket(
      ::socket(addresses->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket) set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (!socket || ::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot listen on {} port {}: {}", endpoint.host, endpoint.port,
                            std::strerror(errno)),
                "choose an address of this host with --interface");
  }
  return socket;
}

FileDescriptor connect_to(const Endpoint& endpoint, Deadline deadline) {
  const Addresses addresses = addresses_of(endpoint, AI_NUMERICSERV, ErrorKind::kPeer);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (FileDescriptor socket = connect_address(*one, deadline)) return socket;
  }
  throw Error(ErrorKind::kPeer,
              fmt::format("no process answers on {} port {}", endpoint.host, endpoint.port));
}

void tune(const FileDescriptor& socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace lockstep::comm
