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

namespace fs = std::filesystem;

/// The folder of the program or shared library that this code is part of.
fs::path own_folder() {
  std::error_code ignored;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&make_mpi), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = fs::canonical(info.dli_fname, ignored);
    if (!file.empty() && file.filename().string().find(".so") != std::string::npos)
      return file.parent_path();
  }
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// Beside the worker, or bin/ beside the library's lib/, where it is built; in lib/lockstep, if it
/// is installed. LOCKSTEP_MPI_MODULE names another.
void* load_module(std::string& problem) {
  std::error_code ignored;
  const fs::path here = own_folder();
  std::vector<std::string> places{
      here / "lockstep-mpi.so", here / "../lib/lockstep/lockstep-mpi.so",
      here / "lockstep/lockstep-mpi.so", here / "../bin/lockstep-mpi.so"};
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
