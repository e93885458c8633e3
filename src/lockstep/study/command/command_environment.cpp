#include "lockstep/study/command/command_environment.h"

#include "lockstep/record/worker_environment.h"

namespace lockstep::study {
namespace {

/// Python keeps lines back when it does not write to a terminal.
constexpr const char* kUnbuffered = "PYTHONUNBUFFERED=1";

/// Of the libraries that PyTorch, TensorFlow and NumPy compute with.
void limit_threads(int threads, std::vector<std::string>& environment) {
  if (threads > 0) environment.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
}

}  // namespace

std::vector<std::string> command_environment(const watch::WatchFolder* watching, int workers,
                                             int threads) {
  std::vector<std::string> environment;
  if (watching != nullptr) environment = watching->environment();
  if (workers > 0) {
    environment.push_back(std::string(record::worker_environment::kWorkers) + "=" +
                          std::to_string(workers));
  }
  environment.emplace_back(kUnbuffered);
  limit_threads(threads, environment);
  return environment;
}

std::vector<std::string> job_environment(const std::string& watch_folder, int threads) {
  std::vector<std::string> environment{kUnbuffered};
  if (!watch_folder.empty()) {
    const auto records = watch::WatchFolder::records_of(watch_folder);
    environment.push_back("LOCKSTEP_WATCH_DIR=" + records.string());
  }
  limit_threads(threads, environment);
  return environment;
}

}  // namespace lockstep::study
