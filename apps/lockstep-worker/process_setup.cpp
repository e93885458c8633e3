#include "process_setup.h"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/measure/compute_environment.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/record/worker_environment.h"

#include "blas.h"

namespace lockstep::worker {
namespace {

namespace environment = record::worker_environment;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set in a signal handler");

void on_interrupt(int signal) {
  if (stop_requested.exchange(true)) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}

/// Ends this process when the launcher closes the pipe that is standard input; any text before that
/// ("stop") has the effect of SIGINT.
void watch_parent_pipe() {
  char text[64];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(exit_code(ErrorKind::kInterrupted));
    stop_requested = true;
  }
}

/// The value of --threads: libraries read theirs from the environment when they are loaded, before
/// the command line is parsed.
std::string asked_threads(char** argv, int otherwise) {
  constexpr std::string_view kOption = "--threads";
  for (char** at = argv; *at != nullptr; ++at) {
    const std::string_view word = *at;
    if (word == kOption && at[1] != nullptr) return at[1];
    if (word.starts_with("--threads=")) return std::string(word.substr(kOption.size() + 1));
  }
  return std::to_string(otherwise);
}

}  // namespace

void end_with_starter(const comm::Placement& place) {
  if (std::getenv(environment::kParentPipe) != nullptr) std::thread(watch_parent_pipe).detach();
  if (place.starter == "openmpi") ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void set_up_process(int threads) {
  ::mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TOP_PAD, 64 << 20);
  // LibTorch already took the number from OMP_NUM_THREADS as a rule. Setting it makes a second
  // pool, one thread per core of the host, which spin while the first step waits for their cores.
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
  limit_blas_threads(threads);
  at::set_num_interop_threads(1);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGUSR1, &action, nullptr);  // which mpirun and srun pass on
  ::signal(SIGPIPE, SIG_IGN);
}

int threads_by_default(const comm::Placement& place) {
  const auto mine = static_cast<int>(measure::usable_cores().size());
  return measure::bound_to_cores() ? std::max(1, mine) : std::max(1, mine / place.local_size);
}

bool is_oversubscribed(const comm::Placement& place) {
  return place.local_size > ::sysconf(_SC_NPROCESSORS_ONLN);
}

void prepare_environment(const comm::Placement& place, char** argv) {
  constexpr const char* kPrepared = "LOCKSTEP_PREPARED";
  // Workers of its own host are prepared by lockstep itself.
  const bool by_launcher = place.starter == "lockstep" && place.shared_memory_fd;
  if (by_launcher || std::getenv(kPrepared) != nullptr) return;
  ::setenv(kPrepared, "1", 1);
  measure::set_compute_environment();
  const std::string threads = asked_threads(argv, threads_by_default(place));
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    ::setenv(name, threads.c_str(), 0);
  }
  ::execv("/proc/self/exe", argv);
  throw Error(ErrorKind::kEnvironment,
              std::string("cannot restart this program: ") + std::strerror(errno));
}

const std::atomic<bool>& stop_flag() {
  return stop_requested;
}

}  // namespace lockstep::worker
