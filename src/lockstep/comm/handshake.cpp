#include "lockstep/comm/handshake.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

using Nonce = std::array<std::byte, 32>;

constexpr std::uint64_t kMagic = 0x31506574736b634cULL;  // "LcksteP1"
constexpr Seconds kAnswerTime{3};
constexpr int kMostAcceptsAtOnce = 64;

struct Greeting {
  std::uint64_t magic = kMagic;
  Nonce nonce{};
};

struct Introduction {
  std::uint64_t magic = kMagic;
  Visitor visitor;
  std::uint32_t reserved = 0;
  Nonce nonce{};
  Sha256 proof{};
};
static_assert(sizeof(Greeting) == 40 && sizeof(Introduction) == 88);

/// Either side's proof, over all that both have said.
Sha256 prove(const JobSecret& secret, std::string_view side, const Nonce& host_nonce,
             const Introduction& said) {
  std::vector<std::byte> text;
  const auto add = [&](std::span<const std::byte> bytes) {
    text.insert(text.end(), bytes.begin(), bytes.end());
  };
  add(std::as_bytes(std::span(side)));
  add(host_nonce);
  add(said.nonce);
  add(std::as_bytes(std::span(&said.visitor, 1)));
  return hmac_sha256(secret, text);
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

Socket introduce(const Endpoint& endpoint, const JobSecret& secret, const Visitor& visitor,
                 Deadline deadline) {
  Socket socket = connect_to(endpoint, deadline);
  const Deadline soon = std::min(deadline, after(kAnswerTime));
  Greeting greeting;
  socket.receive(bytes_of(greeting), soon);
  if (greeting.magic != kMagic) throw Error(ErrorKind::kPeer, "another program answered");
  Introduction said;
  said.visitor = visitor;
  fill_random(said.nonce);
  said.proof = prove(secret, "visitor", greeting.nonce, said);
  socket.send(bytes_of(said), soon);
  Sha256 answer{};
  try {
    socket.receive(answer, soon);
  } catch (const Error&) {
    throw Error(ErrorKind::kPeer, "the run there has another secret or another number of ranks",
                "set the same LOCKSTEP_SECRET and the same number of ranks everywhere");
  }
  if (!equal_in_constant_time(answer, prove(secret, "host", greeting.nonce, said))) {
    throw Error(ErrorKind::kPeer, "who answered does not know the secret of this run");
  }
  tune(socket);
  return socket;
}

struct Doorman::Pending {
  Socket socket;
  Nonce nonce{};
  Deadline expires;
  Introduction said;
  std::size_t received = 0;
};

Doorman::Doorman(Socket listener, const JobSecret& secret, Purpose purpose, int size)
    : listener_(std::move(listener)),
      secret_(secret),
      purpose_(purpose),
      size_(size),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_.fd(), &wanted) != 0) {
    throw Error(ErrorKind::kEnvironment, "cannot wait for connections");
  }
}

Doorman::~Doorman() {
  if (epoll_ >= 0) ::close(epoll_);
}

std::vector<Doorman::Admitted> Doorman::serve() {
  greet_new();
  std::vector<Admitted> admitted;
  std::erase_if(pending_, [&](auto& pending) { return go_on(*pending, admitted); });
  drop_expired();
  return admitted;
}

void Doorman::greet_new() {
  for (int i = 0; i < kMostAcceptsAtOnce; ++i) {
    Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    auto pending = std::make_unique<Pending>();
    pending->expires = after(kPatience);
    Greeting greeting;
    fill_random(greeting.nonce);
    pending->nonce = greeting.nonce;
    // It fits into the empty buffer of a new connection; if not, this is none.
    if (::send(socket.fd(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
      ++refused_;
      continue;
    }
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket.fd(), &wanted);
    pending->socket = std::move(socket);
    pending_.push_back(std::move(pending));
    if (pending_.size() > kMostPending) {
      pending_.pop_front();
      ++refused_;
    }
  }
}

/// True when this handshake is over, either way.
bool Doorman::go_on(Pending& pending, std::vector<Admitted>& admitted) {
  const std::span<std::byte> rest = bytes_of(pending.said).subspan(pending.received);
  const ssize_t got = ::recv(pending.socket.fd(), rest.data(), rest.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got > 0) pending.received += static_cast<std::size_t>(got);
  if (got > 0 && pending.received < sizeof(Introduction)) return false;
  const Introduction& said = pending.said;
  const Visitor& visitor = said.visitor;
  const bool belongs =
      got > 0 && said.magic == kMagic && visitor.purpose == purpose_ && visitor.size == size_ &&
      visitor.rank >= 0 && visitor.rank < size_ &&
      equal_in_constant_time(said.proof, prove(secret_, "visitor", pending.nonce, said));
  if (!belongs) {
    ++refused_;
    return true;
  }
  const Sha256 answer = prove(secret_, "host", pending.nonce, said);
  if (::send(pending.socket.fd(), answer.data(), answer.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(answer.size())) {
    return true;
  }
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, pending.socket.fd(), nullptr);
  tune(pending.socket);
  admitted.push_back({std::move(pending.socket), visitor.rank});
  return true;
}

void Doorman::drop_expired() {
  const Deadline now = std::chrono::steady_clock::now();
  while (!pending_.empty() && pending_.front()->expires < now) {
    pending_.pop_front();
    ++refused_;
  }
}

}  // namespace lockstep::comm
