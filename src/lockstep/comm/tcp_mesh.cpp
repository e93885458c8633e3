#include "lockstep/comm/tcp_mesh.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "lockstep/comm/peer_watch.h"

namespace lockstep::comm {
namespace {

constexpr int kLookMs = 100;
constexpr std::chrono::milliseconds kPause{50};
constexpr Seconds kConnectTryTime{5};

bool still_open(ssize_t moved) {
  return moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

TcpMesh::TcpMesh(Options options, Membership& membership)
    : options_(std::move(options)),
      membership_(membership),
      sockets_(static_cast<std::size_t>(options_.size)) {
  Socket listener = listen_on({options_.address, 0});
  membership_.put(fmt::format("mesh/{}/{}", options_.group, options_.rank),
                  listener.local().text());
  connect();
  accept(std::move(listener));
}

void TcpMesh::connect() {
  const Deadline deadline = after(options_.timeout);
  for (int peer = 0; peer < options_.rank; ++peer) {
    const Endpoint there = Endpoint::parse(
        membership_.get(fmt::format("mesh/{}/{}", options_.group, peer), options_.timeout));
    Socket& socket = sockets_[static_cast<std::size_t>(peer)];
    while (!socket) {
      try {
        socket = introduce(there, options_.secret, {Purpose::kData, options_.rank, options_.size},
                           std::min(deadline, after(kConnectTryTime)));
      } catch (const Error& problem) {
        membership_.check();
        if (std::chrono::steady_clock::now() > deadline) {
          throw Error(ErrorKind::kPeer,
                      fmt::format("cannot reach rank {} at {}: {}",
                                  options_.world_ranks[static_cast<std::size_t>(peer)],
                                  there.text(), problem.what()),
                      "choose a network that all hosts share with --interface");
        }
        std::this_thread::sleep_for(kPause);
      }
    }
  }
}

void TcpMesh::accept(Socket listener) {
  const Deadline deadline = after(options_.timeout);
  Doorman doorman(std::move(listener), options_.secret, Purpose::kData, options_.size);
  while (true) {
    std::vector<int> missing;
    for (int peer = options_.rank + 1; peer < options_.size; ++peer) {
      if (!sockets_[static_cast<std::size_t>(peer)]) {
        missing.push_back(options_.world_ranks[static_cast<std::size_t>(peer)]);
      }
    }
    if (missing.empty()) return;
    membership_.check();
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(ErrorKind::kPeer,
                  fmt::format("{} did not connect to this rank within {}", name_ranks(missing),
                              format_seconds(options_.timeout)),
                  "choose a network that all hosts share with --interface");
    }
    pollfd wanted{doorman.fd(), POLLIN, 0};
    ::poll(&wanted, 1, kLookMs);
    for (auto& [socket, rank] : doorman.serve()) {
      if (rank > options_.rank) sockets_[static_cast<std::size_t>(rank)] = std::move(socket);
    }
  }
}

/// One step with one peer; whether anything moved.
bool TcpMesh::move(std::size_t peer, Parcel& parcel, const char* what) {
  const int fd = sockets_[peer].fd();
  bool moved = false;
  bool open = true;
  if (!parcel.out.empty()) {
    const ssize_t sent = ::send(fd, parcel.out.data(), parcel.out.size(), MSG_NOSIGNAL);
    open = still_open(sent);
    if (sent > 0) parcel.out = parcel.out.subspan(static_cast<std::size_t>(sent));
    moved = sent > 0;
  }
  if (open && !parcel.in.empty()) {
    const ssize_t got = ::recv(fd, parcel.in.data(), parcel.in.size(), 0);
    open = still_open(got);
    if (got > 0) parcel.in = parcel.in.subspan(static_cast<std::size_t>(got));
    moved = moved || got > 0;
  }
  if (open) return moved;
  // If the coordinator knows more, its words are better.
  std::this_thread::sleep_for(kPause);
  membership_.check();
  throw Error(ErrorKind::kPeer,
              fmt::format("the connection to rank {} broke during the {}",
                          options_.world_ranks[peer], what),
              "see the output of that rank");
}

std::string TcpMesh::names(const std::vector<Parcel>& left) const {
  std::vector<int> late;
  for (std::size_t peer = 0; peer < left.size(); ++peer) {
    if (!left[peer].in.empty()) late.push_back(options_.world_ranks[peer]);
  }
  for (std::size_t peer = 0; peer < left.size() && late.empty(); ++peer) {
    if (!left[peer].out.empty()) late.push_back(options_.world_ranks[peer]);
  }
  return name_ranks(late);
}

void TcpMesh::exchange_in_rounds(const std::vector<Parcel>& parcels, const char* what) {
  const std::size_t count = parcels.size();
  const auto own = static_cast<std::size_t>(options_.rank);
  for (std::size_t distance = 1; distance < count; ++distance) {
    const std::size_t to = (own + distance) % count;
    const std::size_t from = (own + count - distance) % count;
    meet(to, from, what);
    std::vector<Parcel> round(count);
    round[to].out = parcels[to].out;
    round[from].in = parcels[from].in;
    exchange(std::move(round), what);
  }
}

/// Tells `from` that it may send, and waits to be told so by `to`.
void TcpMesh::meet(std::size_t to, std::size_t from, const char* what) {
  const std::byte mine{1};
  std::byte theirs{};
  std::vector<Parcel> words(sockets_.size());
  words[from].out = {&mine, 1};
  words[to].in = {&theirs, 1};
  exchange(std::move(words), what);
}

void TcpMesh::exchange(std::vector<Parcel> left, const char* what) {
  left[static_cast<std::size_t>(options_.rank)] = {};
  Deadline deadline = after(options_.timeout);
  std::vector<pollfd> wanted;
  std::vector<std::size_t> peers;
  while (true) {
    wanted.clear();
    peers.clear();
    for (std::size_t peer = 0; peer < left.size(); ++peer) {
      const short events = static_cast<short>((left[peer].out.empty() ? 0 : POLLOUT) |
                                              (left[peer].in.empty() ? 0 : POLLIN));
      if (events == 0) continue;
      wanted.push_back({sockets_[peer].fd(), events, 0});
      peers.push_back(peer);
    }
    if (peers.empty()) return;
    bool moved = false;
    if (::poll(wanted.data(), wanted.size(), kLookMs) > 0) {
      for (std::size_t i = 0; i < peers.size(); ++i) {
        if (wanted[i].revents != 0) moved = move(peers[i], left[peers[i]], what) || moved;
      }
    }
    if (moved) {
      deadline = after(options_.timeout);
      continue;
    }
    membership_.check();
    if (std::chrono::steady_clock::now() < deadline) continue;
    throw Error(ErrorKind::kPeer,
                fmt::format("{} did not reach the {} within {}", names(left), what,
                            format_seconds(options_.timeout)),
                "see what it was doing; raise --timeout if it was only slow");
  }
}

}  // namespace lockstep::comm
