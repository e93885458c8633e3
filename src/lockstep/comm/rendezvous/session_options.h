#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/comm/rendezvous/job_secret.h"
#include "lockstep/comm/rendezvous/placement.h"

namespace lockstep::comm {

/// A rank that is lost to the run, and why.
struct RankFailure {
  int rank = 0;
  Error error;
};

/// How the ranks of a run find and watch each other; the same on every rank but for `place`.
struct SessionOptions {
  Placement place;
  JobSecret secret{};
  std::string interface;  ///< name or address of the network for gradients; empty = chosen
  Seconds timeout{60};    ///< longest wait for another rank
  Seconds silence{10};    ///< a rank without a heartbeat for that long has hung
  /// After that time from the moment the run is known to be lost, the process is ended with exit
  /// code 5 if it still runs, even if it is blocked in a call. 0 = never.
  Seconds grace{0};
  bool spin = true;  ///< waits inside a host may spin: every rank has a core
  /// Rank 0 only: called once, from a thread of the coordinator, with the cause that ended the run.
  std::function<void(const RankFailure&)> on_failure = [](const RankFailure&) {};
};

/// Where the coordinator of a run is.
struct MeetingPoint {
  std::string address = "127.0.0.1";
  std::vector<int> ports;  ///< the coordinator takes the first that is free
};

}  // namespace lockstep::comm
