#include "lockstep/comm/rendezvous/peer_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace lockstep::comm {

PeerWatch::PeerWatch(std::span<const pid_t> pids) {
  for (std::size_t rank = 0; rank < pids.size(); ++rank) {
    int fd = -1;
    if (pids[rank] != 0) {
      fd = static_cast<int>(::syscall(SYS_pidfd_open, pids[rank], 0));
      if (fd < 0 && errno == ESRCH) gone_early_.push_back(static_cast<int>(rank));
    }
    fds_.push_back(fd);
  }
}

PeerWatch::~PeerWatch() {
  for (int fd : fds_) {
    if (fd >= 0) ::close(fd);
  }
}

std::vector<int> PeerWatch::gone(std::chrono::milliseconds patience) const {
  std::vector<int> ranks = gone_early_;
  std::vector<pollfd> polled;
  for (int fd : fds_) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  const int wait_ms = ranks.empty() ? static_cast<int>(patience.count()) : 0;
  if (::poll(polled.data(), polled.size(), wait_ms) > 0) {
    for (std::size_t rank = 0; rank < polled.size(); ++rank) {
      if ((polled[rank].revents & POLLIN) != 0) ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks;
}

std::string name_ranks(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace lockstep::comm
