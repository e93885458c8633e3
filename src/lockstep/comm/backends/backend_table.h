#pragma once

#include <vector>

#include "lockstep/comm/backends/backend_entry.h"

namespace lockstep::comm {

/// Throws kUsage for kAuto, and for what is only found in records.
BackendEntry backend_of(record::Backend backend);

/// Those that this build and this host have.
std::vector<record::Backend> available_backends();

/// The engine between hosts: MPI where MPI started the ranks and all of them have the module, Gloo
/// otherwise. Collective.
record::Backend engine_between_hosts(Session& session);

/// `asked`, with kAuto resolved: NCCL on GPUs where it is available, shared memory within one host,
/// kHierarchical where several hosts have several ranks, else the engine between hosts.
/// Collective.
record::Backend choose_backend(record::Backend asked, bool on_gpus, Session& session);

}  // namespace lockstep::comm
