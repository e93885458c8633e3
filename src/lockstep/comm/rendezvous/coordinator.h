#pragma once

#include <memory>
#include <vector>

#include "lockstep/comm/rendezvous/session_options.h"

namespace lockstep::comm {

/// Coordinates the ranks of one run from a separate thread: authenticates them, stores the values
/// that they exchange (addresses), receives their heartbeats, and when one dies, hangs or fails
/// sends the cause to all others. It listens only until all ranks have joined.
class Coordinator {
 public:
  /// Throws kEnvironment when it cannot listen.
  Coordinator(const SessionOptions& options, const MeetingPoint& place);
  /// Waits up to 5 s for the ranks to leave.
  ~Coordinator();

  int port() const { return port_; }

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
  int port_ = 0;
};

/// Ports on which the ranks of a job look for its coordinator; below the kernel's ephemeral ports.
std::vector<int> ports_of_job(const JobSecret& secret);

}  // namespace lockstep::comm
