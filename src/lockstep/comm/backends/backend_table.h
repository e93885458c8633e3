#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/rendezvous/session.h"

namespace lockstep::comm {

/// One way for ranks to exchange data. A new one is an entry of this table and a file beside it.
struct BackendEntry {
  std::string_view name;
  /// Whether this build and this host have it.
  bool (*available)();
  /// Joins `ranks`, or all ranks of the session where empty. Collective over all ranks of the
  /// session; blocks. Throws kUsage where the back end does not fit the ranks.
  std::unique_ptr<Communicator> (*make)(Session& session, const std::vector<int>& ranks);
};

std::span<const BackendEntry> backends();

/// Throws kUsage for a name that is not in the table.
const BackendEntry& backend_named(std::string_view name);

/// The engine between hosts: MPI where MPI started the ranks and all of them have the module, Gloo
/// otherwise. Collective.
std::string_view engine_between_hosts(Session& session);

/// `name`, with "auto" resolved: NCCL on GPUs where it is available, shared memory within one host,
/// "hierarchical" where several hosts have several ranks, else the engine between hosts.
/// Collective.
std::string_view choose_backend(std::string_view name, bool on_gpus, Session& session);

}  // namespace lockstep::comm
