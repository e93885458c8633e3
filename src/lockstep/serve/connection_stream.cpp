#include "lockstep/serve/connection_stream.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockstep::serve {

bool ConnectionStream::poll_until(short events, Clock::time_point deadline) const {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{socket_, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<long>(0, left)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool ConnectionStream::wait_for_request() {
  head_read_ = 0;
  line_ends_ = 0;
  head_done_ = false;
  if (at_ == buffer_.size() && !poll_until(POLLIN, Clock::now() + limits_.idle)) return false;
  deadline_ = Clock::now() + limits_.head;
  return true;
}

bool ConnectionStream::is_readable() const {
  return at_ < buffer_.size() || poll_until(POLLIN, deadline_);
}

bool ConnectionStream::is_writable() const {
  pollfd state{socket_, POLLOUT | POLLRDHUP, 0};
  if (::poll(&state, 1, 0) < 0) return false;
  return (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

void ConnectionStream::watch_head(const char* data, std::size_t size) {
  for (std::size_t i = 0; i < size && !head_done_; ++i) {
    ++head_read_;
    if (data[i] == '\n') {
      if (++line_ends_ == 2) {
        head_done_ = true;
        deadline_ = Clock::now() + limits_.body;
      }
    } else if (data[i] != '\r') {
      line_ends_ = 0;
    }
  }
}

ssize_t ConnectionStream::read(char* data, std::size_t size) {
  if (!head_done_ && head_too_large()) return -1;
  if (at_ == buffer_.size()) {
    if (!poll_until(POLLIN, deadline_)) {
      timed_out_ = true;
      return -1;
    }
    buffer_.resize(16 * 1024);
    at_ = 0;
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    buffer_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (got <= 0) return got;
  }
  const std::size_t count = std::min(size, buffer_.size() - at_);
  std::memcpy(data, buffer_.data() + at_, count);
  watch_head(data, count);
  at_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t ConnectionStream::write(const char* data, std::size_t size) {
  const auto deadline = Clock::now() + limits_.write;
  std::size_t sent = 0;
  while (sent < size) {
    if (!poll_until(POLLOUT, deadline)) return -1;
    const ssize_t count = ::send(socket_, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return -1;
    sent += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(sent);
}

void ConnectionStream::close_after_answer() {
  ::shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + limits_.linger;
  buffer_.resize(64 * 1024);
  while (poll_until(POLLIN, deadline) && ::recv(socket_, buffer_.data(), buffer_.size(), 0) > 0) {
  }
  ::close(socket_);
}

namespace {

void describe(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  } else if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  }
  ip = text;
}

}  // namespace

void ConnectionStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    describe(address, ip, port);
  }
}

void ConnectionStream::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    describe(address, ip, port);
  }
}

}  // namespace lockstep::serve
