#include "lockstep/comm/backends/backend_table.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/comm/backends/c10d/nccl.h"
#include "lockstep/comm/backends/hierarchical.h"
#include "lockstep/comm/backends/mpi/mpi_module.h"
#include "lockstep/comm/backends/shm/shared_memory.h"

namespace lockstep::comm {
namespace {

using record::Backend;

std::unique_ptr<Communicator> make_hierarchical_of(Session& session, const std::vector<int>&) {
  auto local = make_host_memory(session);
  std::unique_ptr<Communicator> across;
  if (session.hosts().hosts() > 1) {
    const Backend engine = engine_between_hosts(session);
    if (session.options().place.rank == 0) {
      log_info(
          fmt::format("shared memory inside hosts, between hosts: {}", record::name_of(engine)));
    }
    across = backend_of(engine).make(session, session.hosts().leaders());
  }
  return make_hierarchical(session.options().place.rank, session.hosts(), std::move(local),
                           std::move(across));
}

}  // namespace

BackendEntry hierarchical_backend() {
  return {.make = &make_hierarchical_of};
}

BackendEntry backend_of(Backend backend) {
  switch (backend) {
#define LOCKSTEP_ENTRY(value, name) \
  case Backend::value:              \
    return name##_backend();
    LOCKSTEP_BACKENDS(LOCKSTEP_ENTRY)
#undef LOCKSTEP_ENTRY
    case Backend::kAuto:
    case Backend::kNone:
    case Backend::kTcp:
      break;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("the back end '{}' cannot connect ranks", record::name_of(backend)),
              "use --backend gloo");
}

std::vector<Backend> available_backends() {
  std::vector<Backend> available;
#define LOCKSTEP_AVAILABLE(value, name) \
  if (name##_backend().available()) available.push_back(Backend::value);
  LOCKSTEP_BACKENDS(LOCKSTEP_AVAILABLE)
#undef LOCKSTEP_AVAILABLE
  return available;
}

Backend engine_between_hosts(Session& session) {
  const Placement& place = session.options().place;
  if (!place.mpi) return Backend::kGloo;
  // Hosts may differ in what is installed.
  Membership& membership = session.membership();
  membership.put(fmt::format("mpi/{}", place.rank), has_mpi() ? "yes" : "no");
  bool all = true;
  for (int rank = 0; rank < place.size; ++rank) {
    all = membership.get(fmt::format("mpi/{}", rank), session.options().timeout) == "yes" && all;
  }
  return all ? Backend::kMpi : Backend::kGloo;
}

Backend choose_backend(Backend asked, bool on_gpus, Session& session) {
  if (asked != Backend::kAuto) return asked;
  if (on_gpus && has_nccl()) return Backend::kNccl;
  const int hosts = session.hosts().hosts();
  if (hosts == 1) return Backend::kSharedMemory;
  return hosts < session.options().place.size ? Backend::kHierarchical
                                              : engine_between_hosts(session);
}

}  // namespace lockstep::comm
