#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/comm/rendezvous/session_options.h"

namespace lockstep::comm {

/// The connection of this rank to the coordinator of its run. A separate thread sends heartbeats
/// and receives the cause when the run is lost, so a rank that computes counts as alive and one
/// that is stopped does not.
class Membership {
 public:
  /// Blocks until the coordinator has accepted this rank. Throws kPeer after the timeout.
  Membership(const SessionOptions& options, const MeetingPoint& place);
  ~Membership();

  /// Stores a value for all ranks.
  void put(const std::string& key, const std::string& value);
  /// Blocks until a rank has stored it. Throws kPeer after `timeout` or when the run is lost.
  std::string get(const std::string& key, Seconds timeout);

  /// Why the run is lost; nothing while it is not. Thread-safe.
  std::optional<Error> trouble() const;
  /// Throws trouble(), if any.
  void check() const;

  /// The address by which this host reaches the coordinator's, and likely the other ranks.
  std::string local_address() const;
  /// What to add to this host's monotonic clock to get that of rank 0's host. Blocks for some
  /// round trips.
  Nanoseconds clock_offset();

  /// Reports to the coordinator why this rank ends. Never throws.
  void report(const Error& error) noexcept;
  /// Reports that this rank has done its work. Never throws.
  void leave() noexcept;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace lockstep::comm
