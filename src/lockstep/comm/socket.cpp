#include "lockstep/comm/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

constexpr int kBacklog = 512;
/// How often a wait looks whether it was cancelled.
constexpr std::chrono::milliseconds kLook{100};

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const Endpoint& endpoint, int flags, ErrorKind kind) {
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
bool wait_for(int fd, short events, Deadline deadline, const std::function<void()>& cancelled) {
  while (true) {
    if (cancelled) cancelled();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    pollfd wanted{fd, events, 0};
    const auto slice = cancelled ? std::min(left, kLook) : left;
    if (::poll(&wanted, 1, static_cast<int>(slice.count()) + 1) > 0) return true;
  }
}

/// Nothing when this address does not answer in time.
Socket connect_address(const addrinfo& address, Deadline deadline) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  if (::connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS || !wait_for(socket.fd(), POLLOUT, deadline, {})) return {};
  int problem = 0;
  socklen_t length = sizeof problem;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
  if (problem == 0) return socket;
  errno = problem;
  return {};
}

void set(const Socket& socket, int level, int option, int value) {
  ::setsockopt(socket.fd(), level, option, &value, sizeof value);
}

/// Every 10 s BBR lets a connection fall to four packets in flight for 200 ms, to see how long the
/// empty way takes. Where all ranks wait for each other, all wait for each of these pauses: 4 hosts
/// with 12 connections lose 15 % of a link of 200 Mbit.
void avoid_bbr(const Socket& socket) {
  char name[16] = {};
  socklen_t length = sizeof name - 1;
  if (::getsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return;
  if (!std::string_view(name).starts_with("bbr")) return;
  // Who is not root may choose only among those that root allows; reno always is.
  for (const std::string_view other : {"cubic", "reno"}) {
    if (::setsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, other.data(),
                     static_cast<socklen_t>(other.size())) == 0) {
      return;
    }
  }
}

}  // namespace

Deadline after(Seconds time) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
}

std::string Endpoint::text() const {
  return fmt::format("{} {}", host, port);
}

Endpoint Endpoint::parse(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  Endpoint endpoint;
  if (space != std::string::npos) {
    endpoint.host = text.substr(0, space);
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data() + space + 1, end, endpoint.port);
    if (problem == std::errc() && stop == end && endpoint.port > 0) return endpoint;
  }
  throw Error(ErrorKind::kPeer, fmt::format("a rank gave '{}' as its address", text));
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Endpoint Socket::local() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(fd_, any, &length) != 0 ||
      ::getnameinfo(any, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    throw broken("a socket has no address");
  }
  return {host, std::atoi(port)};
}

void Socket::send(std::span<const std::byte> bytes, Deadline deadline,
                  const std::function<void()>& cancelled) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (wait_for(fd_, POLLOUT, deadline, cancelled)) continue;
      throw Error(ErrorKind::kPeer, "the other end did not take the data in time");
    } else if (errno != EINTR) {
      throw broken("the connection broke");
    }
  }
}

void Socket::receive(std::span<std::byte> bytes, Deadline deadline,
                     const std::function<void()>& cancelled) const {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      throw Error(ErrorKind::kPeer, "the connection was closed");
    } else if (errno == EAGAIN) {
      if (wait_for(fd_, POLLIN, deadline, cancelled)) continue;
      throw Error(ErrorKind::kPeer, "the other end sent nothing in time");
    } else if (errno != EINTR) {
      throw broken("the connection broke");
    }
  }
}

Socket listen_on(const Endpoint& endpoint) {
  const Addresses addresses =
      resolve(endpoint, AI_PASSIVE | AI_NUMERICSERV, ErrorKind::kEnvironment);
  Socket socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket) set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (!socket || ::bind(socket.fd(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      ::listen(socket.fd(), kBacklog) != 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot listen on {} port {}: {}", endpoint.host, endpoint.port,
                            std::strerror(errno)),
                "choose an address of this host with --interface");
  }
  return socket;
}

Socket connect_to(const Endpoint& endpoint, Deadline deadline) {
  const Addresses addresses = resolve(endpoint, AI_NUMERICSERV, ErrorKind::kPeer);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (Socket socket = connect_address(*one, deadline)) return socket;
  }
  throw Error(ErrorKind::kPeer,
              fmt::format("nobody answers on {} port {}", endpoint.host, endpoint.port));
}

void tune(const Socket& socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  avoid_bbr(socket);
}

}  // namespace lockstep::comm
