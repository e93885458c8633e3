#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/comm/backends/backend_entry.h"
#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/comm/rendezvous/session.h"

namespace lockstep::comm {
namespace {

/// The lowest rank of a host creates an anonymous file and the others open it through /proc: it has
/// no name, so nothing is left behind when processes die.
FileDescriptor shared_memory_of_host(const Context& context) {
  const bool creates = context.rank == 0;
  const std::string key = fmt::format("memory/{}/{}", context.group, context.world_rank(0));
  FileDescriptor memory;
  if (creates) {
    memory = FileDescriptor(::memfd_create("lockstep", MFD_CLOEXEC));
    context.membership->put(key, fmt::format("/proc/{}/fd/{}", ::getpid(), memory.get()));
  } else {
    const std::string path = context.membership->get(key, context.timeout);
    memory = FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  if (!memory) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot share memory with rank {}: {}", context.world_rank(0),
                            std::strerror(errno)),
                "use --backend gloo");
  }
  return memory;
}

}  // namespace

std::unique_ptr<Communicator> make_host_memory(Session& session) {
  const Context context = session.context(session.hosts().neighbours(session.options().place.rank));
  // The file may be closed once all ranks have it open, which is when this returns.
  const FileDescriptor memory = shared_memory_of_host(context);
  return make_shared_memory(context, memory.get());
}

BackendEntry shm_backend() {
  return {.make = [](Session& session, const std::vector<int>&) {
    if (session.hosts().hosts() > 1) {
      throw Error(ErrorKind::kUsage, "--backend shm joins workers of one host only",
                  "use --backend hierarchical or gloo");
    }
    return make_host_memory(session);
  }};
}

}  // namespace lockstep::comm
