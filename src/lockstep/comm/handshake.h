#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/job_secret.h"
#include "lockstep/comm/socket.h"

namespace lockstep::comm {

/// What a connection is for; a proof made for one purpose does not serve for another.
enum class Purpose : std::uint32_t { kControl = 1, kData = 2 };

/// Who asks to come in.
struct Visitor {
  Purpose purpose = Purpose::kControl;
  std::int32_t rank = 0;
  std::int32_t size = 0;
};

/// Both sides prove that they know the job's secret before either says anything else: the one who
/// listens sends 32 random bytes, the one who connects answers with its rank, the world size, 32
/// random bytes and an HMAC over all of it, and gets an HMAC back. Messages have fixed sizes, so
/// nothing a stranger sends is ever interpreted.
///
/// Connects as `visitor`. Throws kPeer when nobody answers there, or nobody who knows the secret.
Socket introduce(const Endpoint& endpoint, const JobSecret& secret, const Visitor& visitor,
                 Deadline deadline);

/// Lets in who proves to belong to the run. However many strangers connect, and whatever they send
/// or do not send, none of them keeps a rank waiting: all handshakes go on at once, none for longer
/// than kPatience, and with kMostPending of them the oldest has to go.
class Doorman {
 public:
  static constexpr std::size_t kMostPending = 128;
  static constexpr Seconds kPatience{10};

  struct Admitted {
    Socket socket;
    int rank = 0;
  };

  /// Ranks of `purpose` and world size `size` only.
  Doorman(Socket listener, const JobSecret& secret, Purpose purpose, int size);
  ~Doorman();
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;

  /// Readable when serve() may have something to do.
  int fd() const { return epoll_; }
  /// Goes on with all handshakes and returns who passed. Does not block.
  std::vector<Admitted> serve();
  /// Connections that were turned away so far.
  std::int64_t refused() const { return refused_; }

 private:
  struct Pending;
  void greet_new();
  bool go_on(Pending& pending, std::vector<Admitted>& admitted);
  void drop_expired();

  Socket listener_;
  JobSecret secret_;
  Purpose purpose_;
  int size_;
  int epoll_ = -1;
  std::deque<std::unique_ptr<Pending>> pending_;
  std::int64_t refused_ = 0;
};

}  // namespace lockstep::comm
