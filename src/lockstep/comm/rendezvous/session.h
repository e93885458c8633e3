#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/context.h"
#include "lockstep/comm/rendezvous/coordinator.h"
#include "lockstep/comm/rendezvous/host_groups.h"
#include "lockstep/comm/rendezvous/membership.h"

namespace lockstep::comm {

/// The ranks of one run that were started separately, on one host or several, and found each other.
/// Rank 0 runs the coordinator: on loopback when all ranks are on one host according to what
/// started them.
class Session {
 public:
  /// Blocks until all ranks have joined. Throws kPeer naming those that are missing.
  explicit Session(SessionOptions options);

  Membership& membership() { return *membership_; }
  const HostGroups& hosts() const { return hosts_; }
  const SessionOptions& options() const { return options_; }

  /// The context of a communicator among `ranks`, ascending, or among all ranks of the run. All
  /// ranks of the run make the same calls in the same order, which names the groups.
  Context context(std::vector<int> ranks = {});

  /// Rank 0: waits up to 5 s for the others to leave, then stops the coordinator.
  void close() { coordinator_.reset(); }

 private:
  void join();
  void exchange_hosts();

  SessionOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Membership> membership_;
  HostGroups hosts_;
  std::string address_;  ///< of this host on the network for gradients
  int groups_ = 0;       ///< so far: each has its own name
};

}  // namespace lockstep::comm
