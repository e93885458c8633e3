#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/comm/handshake.h"

namespace lockstep::comm {

struct MembershipOptions {
  std::string host = "127.0.0.1";  ///< of the coordinator
  std::vector<int> ports;          ///< where it may be
  JobSecret secret{};
  int rank = 0;
  int size = 1;
  std::string host_name;  ///< of this rank, for messages
  Seconds join{60};       ///< longest wait for the coordinator
  Seconds silence{10};    ///< it is gone when not heard of for that long
  /// After that time from the moment the run is known to be lost, the process is ended with exit
  /// code 5 if it still is there: nothing it may be stuck in can keep it. 0 = never.
  Seconds grace{0};
};

/// This rank's line to the coordinator of its run: beats, and hears of the end of others, from a
/// thread of its own, so that a rank that computes is alive and one that is stopped is not.
class Membership {
 public:
  /// Blocks until the coordinator has let this rank in. Throws kPeer at the end of its patience.
  explicit Membership(MembershipOptions options);
  ~Membership();

  /// Tells all ranks a value.
  void put(const std::string& key, const std::string& value);
  /// Blocks until a rank has put it. Throws kPeer after `timeout` or when the run is lost.
  std::string get(const std::string& key, Seconds timeout);

  /// Why the run is lost; nothing while all is well. Thread-safe.
  std::optional<Error> trouble() const;
  /// Throws it.
  void check() const;

  /// The address by which this host reaches the coordinator's, and likely the other ranks.
  std::string local_address() const;
  /// What to add to this host's monotonic clock to get that of rank 0's host. Blocks for some
  /// round trips.
  Nanoseconds clock_offset();

  /// Tells the coordinator why this rank ends. Never throws.
  void report(const Error& error) noexcept;
  /// Tells it that this rank has done its work. Never throws.
  void leave() noexcept;

 private:
  class Line;
  std::unique_ptr<Line> line_;
};

}  // namespace lockstep::comm
