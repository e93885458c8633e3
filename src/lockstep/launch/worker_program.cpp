#include "lockstep/launch/worker_program.h"

#include <cstdlib>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/launch/process/child_process.h"
#include "lockstep/measure/compute_environment.h"

namespace lockstep::launch {

std::optional<std::string> find_worker_program() {
  if (const char* given = std::getenv("LOCKSTEP_WORKER_PROGRAM")) return given;
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (auto beside = find_program((self.parent_path() / "lockstep-worker").string())) {
    return beside;
  }
  return find_program("lockstep-worker");
}

std::string require_worker_program() {
  if (auto program = find_worker_program()) return *program;
  throw Error(ErrorKind::kEnvironment,
              "training needs lockstep-worker, which is neither beside lockstep nor in PATH",
              std::string("everything else works without it. ") + kHowToGetWorker);
}

std::vector<std::string> worker_environment() {
  return measure::compute_environment();
}

}  // namespace lockstep::launch
