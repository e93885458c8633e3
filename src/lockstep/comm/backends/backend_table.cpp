#include "lockstep/comm/backends/backend_table.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/base/log.h"
#include "lockstep/comm/backends/c10d/gloo.h"
#include "lockstep/comm/backends/c10d/nccl.h"
#include "lockstep/comm/backends/hierarchical.h"
#include "lockstep/comm/backends/mpi/mpi_module.h"
#include "lockstep/comm/backends/shm/shared_memory.h"

namespace lockstep::comm {
namespace {

bool always() {
  return true;
}

std::unique_ptr<Communicator> shared_memory_of(Session& session, const std::vector<int>&) {
  if (session.hosts().hosts() > 1) {
    throw Error(ErrorKind::kUsage, "--backend shm joins workers of one host only",
                "use --backend hierarchical or gloo");
  }
  return make_host_memory(session);
}

std::unique_ptr<Communicator> hierarchical_of(Session& session, const std::vector<int>&) {
  auto local = make_host_memory(session);
  std::unique_ptr<Communicator> across;
  if (session.hosts().hosts() > 1) {
    const std::string_view engine = engine_between_hosts(session);
    if (session.options().place.rank == 0) {
      log_info(fmt::format("shared memory inside hosts, between hosts: {}", engine));
    }
    across = backend_named(engine).make(session, session.hosts().leaders());
  }
  return make_hierarchical(session.options().place.rank, session.hosts(), std::move(local),
                           std::move(across));
}

std::unique_ptr<Communicator> gloo_of(Session& session, const std::vector<int>& ranks) {
  const Context context = session.context(ranks);
  return context.rank < 0 ? nullptr : make_gloo(context);
}

std::unique_ptr<Communicator> mpi_of(Session& session, const std::vector<int>& ranks) {
  return make_mpi(session.context(ranks));
}

std::unique_ptr<Communicator> nccl_of(Session& session, const std::vector<int>& ranks) {
  const Context context = session.context(ranks);
  return context.rank < 0 ? nullptr : make_nccl(context, session.options().place.local_rank);
}

constexpr BackendEntry kBackends[] = {
    {"shm", &always, &shared_memory_of}, {"hierarchical", &always, &hierarchical_of},
    {"gloo", &always, &gloo_of},         {"mpi", &has_mpi, &mpi_of},
    {"nccl", &has_nccl, &nccl_of},
};

}  // namespace

std::span<const BackendEntry> backends() {
  return kBackends;
}

const BackendEntry& backend_named(std::string_view name) {
  for (const BackendEntry& entry : kBackends) {
    if (entry.name == name) return entry;
  }
  throw Error(ErrorKind::kUsage, fmt::format("--backend '{}' is unknown", name),
              name == "tcp" ? "it was replaced by --backend gloo" : "");
}

std::string_view engine_between_hosts(Session& session) {
  const Placement& place = session.options().place;
  if (!place.mpi) return "gloo";
  // Hosts may differ in what is installed.
  Membership& membership = session.membership();
  membership.put(fmt::format("mpi/{}", place.rank), has_mpi() ? "yes" : "no");
  bool all = true;
  for (int rank = 0; rank < place.size; ++rank) {
    all = membership.get(fmt::format("mpi/{}", rank), session.options().timeout) == "yes" && all;
  }
  return all ? "mpi" : "gloo";
}

std::string_view choose_backend(std::string_view name, bool on_gpus, Session& session) {
  if (name != "auto") return name;
  if (on_gpus && has_nccl()) return "nccl";
  const int hosts = session.hosts().hosts();
  if (hosts == 1) return "shm";
  return hosts < session.options().place.size ? "hierarchical" : engine_between_hosts(session);
}

}  // namespace lockstep::comm
