#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/rendezvous/job_secret.h"
#include "lockstep/comm/rendezvous/socket.h"

namespace lockstep::comm {

/// The rank that a peer claims to be, in a run of `size` ranks.
struct Peer {
  std::int32_t rank = 0;
  std::int32_t size = 0;
};

/// Both ends of a connection prove that they have the job secret before anything else is sent: the
/// acceptor sends 32 random bytes, the connecting peer answers with its rank, the number of ranks,
/// 32 random bytes and an HMAC over all of it, and receives an HMAC in return. Messages have fixed
/// sizes, so nothing that an unauthenticated peer sends is ever interpreted.
///
/// Connects as `self`. Throws kPeer when nothing answers there, or only a process without the
/// secret.
FileDescriptor connect_authenticated(const Endpoint& endpoint, const JobSecret& secret,
                                     const Peer& self, Deadline deadline);

/// Accepts the ranks of one run. Unauthenticated peers cannot delay a rank, however many connect
/// and regardless of what they send: all handshakes proceed at once, none for longer than
/// kPatience, and beyond kMostPending of them the oldest is dropped.
class Acceptor {
 public:
  static constexpr std::size_t kMostPending = 128;
  static constexpr Seconds kPatience{10};

  struct Accepted {
    FileDescriptor socket;
    int rank = 0;
  };

  /// Accepts ranks of a run of `size` only.
  Acceptor(FileDescriptor listener, const JobSecret& secret, int size);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Readable when serve() may have something to do.
  int fd() const { return epoll_.get(); }
  /// Continues all handshakes and returns the ranks that passed. Does not block.
  std::vector<Accepted> serve();
  /// Number of connections that were refused so far.
  std::int64_t refused() const { return refused_; }

 private:
  struct Pending;
  void greet_new();
  bool proceed(Pending& pending, std::vector<Accepted>& accepted);
  void drop_expired();

  FileDescriptor listener_;
  JobSecret secret_;
  int size_;
  FileDescriptor epoll_;
  std::deque<std::unique_ptr<Pending>> pending_;
  std::int64_t refused_ = 0;
};

}  // namespace lockstep::comm
