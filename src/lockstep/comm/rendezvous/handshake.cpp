#include "lockstep/comm/rendezvous/handshake.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lockstep/base/error.h"
#include "lockstep/base/system/random_bytes.h"

namespace lockstep::comm {
namespace {

using Nonce = std::array<std::byte, 32>;

constexpr std::uint64_t kMagic = 0x32506574736b634cULL;  // "LcksteP2"
constexpr Seconds kAnswerTime{3};
constexpr int kMostAcceptsAtOnce = 64;

struct Greeting {
  std::uint64_t magic = kMagic;
  Nonce nonce{};
};

struct Reply {
  std::uint64_t magic = kMagic;
  Peer peer;
  Nonce nonce{};
  Mac proof{};
};
static_assert(sizeof(Greeting) == 40 && sizeof(Reply) == 80);

/// The proof of either side ("peer" or "acceptor"), over all that both have sent.
Mac proof_of(std::string_view side, const JobSecret& secret, const Nonce& greeting_nonce,
             const Reply& reply) {
  std::vector<std::byte> text;
  const auto add = [&](std::span<const std::byte> bytes) {
    text.insert(text.end(), bytes.begin(), bytes.end());
  };
  add(std::as_bytes(std::span(side)));
  add(greeting_nonce);
  add(reply.nonce);
  add(std::as_bytes(std::span(&reply.peer, 1)));
  return compute_mac(secret, text);
}

template <class T>
std::span<std::byte> object_bytes(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

FileDescriptor connect_authenticated(const Endpoint& endpoint, const JobSecret& secret,
                                     const Peer& self, Deadline deadline) {
  FileDescriptor socket = connect_to(endpoint, deadline);
  const Deadline soon = std::min(deadline, after(kAnswerTime));
  Greeting greeting;
  receive_all(socket, object_bytes(greeting), soon);
  if (greeting.magic != kMagic) throw Error(ErrorKind::kPeer, "another program answered");
  Reply reply;
  reply.peer = self;
  fill_random(reply.nonce);
  reply.proof = proof_of("peer", secret, greeting.nonce, reply);
  send_all(socket, object_bytes(reply), soon);
  Mac answer{};
  try {
    receive_all(socket, answer, soon);
  } catch (const Error&) {
    throw Error(ErrorKind::kPeer, "the run there has a different secret or number of ranks",
                "set the same LOCKSTEP_SECRET and the same number of ranks on every host");
  }
  if (!equal_in_constant_time(answer, proof_of("acceptor", secret, greeting.nonce, reply))) {
    throw Error(ErrorKind::kPeer, "the process that answered does not have the secret of this run");
  }
  tune(socket);
  return socket;
}

struct Acceptor::Pending {
  FileDescriptor socket;
  Nonce nonce{};
  Deadline expires;
  Reply reply;
  std::size_t received = 0;
};

Acceptor::Acceptor(FileDescriptor listener, const JobSecret& secret, int size)
    : listener_(std::move(listener)),
      secret_(secret),
      size_(size),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &wanted) != 0) {
    throw Error(ErrorKind::kEnvironment, "cannot wait for connections");
  }
}

Acceptor::~Acceptor() = default;

std::vector<Acceptor::Accepted> Acceptor::serve() {
  greet_new();
  std::vector<Accepted> accepted;
  std::erase_if(pending_, [&](auto& pending) { return proceed(*pending, accepted); });
  drop_expired();
  return accepted;
}

void Acceptor::greet_new() {
  for (int i = 0; i < kMostAcceptsAtOnce; ++i) {
    FileDescriptor socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    auto pending = std::make_unique<Pending>();
    pending->expires = after(kPatience);
    Greeting greeting;
    fill_random(greeting.nonce);
    pending->nonce = greeting.nonce;
    // It fits into the empty buffer of a new connection; if not, the connection is already closed.
    if (::send(socket.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
      ++refused_;
      continue;
    }
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &wanted);
    pending->socket = std::move(socket);
    pending_.push_back(std::move(pending));
    if (pending_.size() > kMostPending) {
      pending_.pop_front();
      ++refused_;
    }
  }
}

/// True when this handshake is over, either way.
bool Acceptor::proceed(Pending& pending, std::vector<Accepted>& accepted) {
  const std::span<std::byte> rest = object_bytes(pending.reply).subspan(pending.received);
  const ssize_t got = ::recv(pending.socket.get(), rest.data(), rest.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got > 0) pending.received += static_cast<std::size_t>(got);
  if (got > 0 && pending.received < sizeof(Reply)) return false;
  const Reply& reply = pending.reply;
  const bool belongs =
      got > 0 && reply.magic == kMagic && reply.peer.size == size_ && reply.peer.rank >= 0 &&
      reply.peer.rank < size_ &&
      equal_in_constant_time(reply.proof, proof_of("peer", secret_, pending.nonce, reply));
  if (!belongs) {
    ++refused_;
    return true;
  }
  const Mac answer = proof_of("acceptor", secret_, pending.nonce, reply);
  if (::send(pending.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(answer.size())) {
    return true;
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pending.socket.get(), nullptr);
  tune(pending.socket);
  accepted.push_back({std::move(pending.socket), reply.peer.rank});
  return true;
}

void Acceptor::drop_expired() {
  while (!pending_.empty() && pending_.front()->expires < now()) {
    pending_.pop_front();
    ++refused_;
  }
}

}  // namespace lockstep::comm
