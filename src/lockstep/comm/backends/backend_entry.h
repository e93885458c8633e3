#pragma once

#include <memory>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/rendezvous/session.h"
#include "lockstep/record/choices.h"

namespace lockstep::comm {

/// One way for ranks to exchange data.
struct BackendEntry {
  /// Whether this build and this host have it.
  bool (*available)() = [] { return true; };
  /// Joins `ranks`, or all ranks of the session where empty. Collective over all ranks of the
  /// session; blocks. Throws kUsage where the back end does not fit the ranks.
  std::unique_ptr<Communicator> (*make)(Session& session, const std::vector<int>& ranks) = nullptr;
};

#define LOCKSTEP_DECLARE_BACKEND(value, name) BackendEntry name##_backend();
LOCKSTEP_BACKENDS(LOCKSTEP_DECLARE_BACKEND)
#undef LOCKSTEP_DECLARE_BACKEND

}  // namespace lockstep::comm
