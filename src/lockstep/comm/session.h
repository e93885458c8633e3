#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/coordinator.h"
#include "lockstep/comm/host_groups.h"
#include "lockstep/comm/membership.h"
#include "lockstep/comm/placement.h"

namespace lockstep::comm {

struct SessionOptions {
  Placement place;
  JobSecret secret{};
  std::string interface;  ///< name or address of the network for gradients; empty = chosen
  Seconds timeout{60};    ///< longest wait for another rank
  Seconds silence{10};    ///< heartbeat: a rank not heard of for that long has hung
  Seconds grace{0};       ///< see MembershipOptions
  bool spin = true;       ///< waits inside a host may spin: ranks have cores of their own
  /// Rank 0 only: told what ended the run.
  std::function<void(const RankFailure&)> on_failure = [](const RankFailure&) {};
};

/// The ranks of one run that were started apart, on one host or several, and found each other. Rank
/// 0 hosts the coordinator: on loopback when all ranks are on one host by their starter's word.
class Session {
 public:
  /// Blocks until all ranks are there. Throws kPeer naming those that are missing.
  explicit Session(SessionOptions options);
  ~Session();

  Membership& membership() { return *membership_; }
  const HostGroups& hosts() const { return hosts_; }
  /// Where this rank listens for others.
  const std::string& address() const { return address_; }
  const SessionOptions& options() const { return options_; }

  /// Of rank 0: waits up to 5 s for the others to leave and keeps the run together no longer.
  void close() { coordinator_.reset(); }

  /// "auto" made definite: shared memory within one host, "hierarchical" where several hosts have
  /// several ranks, "tcp" otherwise.
  std::string resolve(const std::string& backend) const;
  /// "shm", "tcp" or "hierarchical". Collective; blocks. Throws kUsage when it does not fit.
  std::unique_ptr<Communicator> make(const std::string& backend);

 private:
  void meet();
  void learn_hosts();
  int shared_memory_of_host();
  std::unique_ptr<Communicator> make_local();

  SessionOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Membership> membership_;
  HostGroups hosts_;
  std::string address_;
  int shared_memory_ = -1;
  int communicators_ = 0;  ///< made so far: each finds its peers under names of its own
};

}  // namespace lockstep::comm
