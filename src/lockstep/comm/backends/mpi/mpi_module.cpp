#include "lockstep/comm/backends/mpi/mpi_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/backend_entry.h"

namespace lockstep::comm {
namespace {

/// Beside the program, where it is built, or in ../lib/lockstep, if it is installed;
/// LOCKSTEP_MPI_MODULE names another.
void* load_module(std::string& problem) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::string> places{program / "lockstep-mpi.so",
                                  program / "../lib/lockstep/lockstep-mpi.so"};
  if (const char* given = std::getenv("LOCKSTEP_MPI_MODULE")) places = {given};
  for (const std::string& place : places) {
    if (!fs::exists(place, ignored)) continue;
    // Open MPI loads plug-ins that look for its symbols among the global ones.
    if (void* module = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL)) return module;
    problem = ::dlerror();
    return nullptr;
  }
  problem = "no file " + places.front();
  return nullptr;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi(const Context& context) {
  std::string problem;
  void* module = load_module(problem);
  if (module == nullptr) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("the MPI back end cannot be loaded: {}", problem),
                "build lockstep with libopenmpi-dev installed, or use --backend gloo");
  }
  const auto make = reinterpret_cast<MakeMpi>(::dlsym(module, kMakeMpiName));
  if (make == nullptr)
    throw Error(ErrorKind::kEnvironment, "the MPI module belongs to a different build of lockstep");
  return std::unique_ptr<Communicator>(make(context));
}

bool has_mpi() {
  std::string ignored;
  return load_module(ignored) != nullptr;
}

BackendEntry mpi_backend() {
  return {.available = &has_mpi, .make = [](Session& session, const std::vector<int>& ranks) {
            return make_mpi(session.context(ranks));
          }};
}

}  // namespace lockstep::comm
