#pragma once

#include <string>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/comm/rendezvous/job_secret.h"

namespace lockstep::comm {

class Membership;

/// What every back end starts from: which ranks a communicator joins, and how they reach each
/// other.
struct Context {
  int rank = 0;  ///< of this process in the group; -1 if it is not a member
  int size = 1;
  Seconds timeout{60};  ///< longest wait for another rank
  /// How long a wait inside a host spins before it sleeps. Zero when ranks share cores: a spinning
  /// rank would keep the one it waits for from running.
  Seconds spin{50e-6};
  /// The group's members by their rank in the whole run; empty when the group is the run.
  std::vector<int> world_ranks{};

  // For groups that meet over the network.
  std::string group = "all";          ///< unique within the run
  std::string address = "127.0.0.1";  ///< to listen on and to be reached at
  JobSecret secret{};                 ///< by which members authenticate each other
  Membership* membership = nullptr;   ///< outlives the communicator

  /// What messages call a member.
  int world_rank(int member) const {
    return world_ranks.empty() ? member : world_ranks[static_cast<std::size_t>(member)];
  }
};

}  // namespace lockstep::comm
