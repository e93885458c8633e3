#include "lockstep/library/rank_starter.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/random_bytes.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/measure/compute_environment.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::library {
namespace {

namespace environment = record::worker_environment;

/// From the first failure to SIGTERM, and from that to SIGKILL. Ranks end by themselves within 10
/// s.
constexpr Nanoseconds kEndByThemselves = 15'000'000'000;
constexpr Nanoseconds kEndByRequest = 5'000'000'000;

void set(const char* name, const std::string& value, bool replace = true) {
  ::setenv(name, value.c_str(), replace ? 1 : 0);
}

/// In the child, between fork and exec.
void bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(cpu, &mask);
  ::sched_setaffinity(0, sizeof mask, &mask);
}

pid_t start_rank(int rank, const launch::CorePlan& plan, char** argv, const sigset_t& signals) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot start rank {}: {}", rank, std::strerror(errno)));
  }
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  bind_to(plan.cpus[static_cast<std::size_t>(rank)]);
  set(environment::kRank, std::to_string(rank));
  set(environment::kLocalRank, std::to_string(rank));
  ::execv("/proc/self/exe", argv);
  std::fprintf(stderr, "error: cannot start rank %d: %s\n", rank, std::strerror(errno));
  ::_exit(exit_code(ErrorKind::kEnvironment));
}

void set_environment(const launch::CorePlan& plan) {
  const std::string workers = std::to_string(plan.workers);
  set(environment::kWorldSize, workers);
  set(environment::kLocalSize, workers);
  set(environment::kSecret, random_hex(32));
  set(environment::kJob, random_hex(8));
  measure::set_compute_environment();
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    set(name, std::to_string(plan.threads_per_worker), false);
  }
}

/// How a rank ended.
struct RankEnd {
  int rank = 0;
  int status = 0;  ///< as of waitpid()
};

bool is_clean(const RankEnd& end) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0;
}

/// Whether the rank ended because of another, whose end then has the cause.
bool follows_another(const RankEnd& end) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == exit_code(ErrorKind::kPeer);
}

std::string describe(const RankEnd& end) {
  if (WIFSIGNALED(end.status)) {
    return fmt::format("rank {} was killed by signal {} ({})", end.rank, WTERMSIG(end.status),
                       ::strsignal(WTERMSIG(end.status)));
  }
  return fmt::format("rank {} ended with exit code {}", end.rank, WEXITSTATUS(end.status));
}

/// The ranks of one attempt.
class RankGroup {
 public:
  RankGroup(const launch::CorePlan& plan, char** argv, const sigset_t& signals)
      : signals_(signals) {
    for (int rank = 0; rank < plan.workers; ++rank) {
      pids_.push_back(start_rank(rank, plan, argv, signals));
    }
  }

  /// Blocks until all have ended.
  void wait() {
    for (int running = static_cast<int>(pids_.size()); running > 0;) {
      const timespec tick{0, 100'000'000};
      const int signal = ::sigtimedwait(&signals_, nullptr, &tick);
      if (signal > 0 && signal != SIGCHLD) pass_on(signal);
      running -= reap();
      hasten();
    }
  }

  const std::optional<RankEnd>& failure() const { return failure_; }
  bool stopped() const { return stopped_; }

 private:
  int reap() {
    int ended = 0;
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      if (pids_[rank] <= 0 || ::waitpid(pids_[rank], &status, WNOHANG) != pids_[rank]) continue;
      pids_[rank] = -1;
      ++ended;
      const RankEnd end{static_cast<int>(rank), status};
      if (is_clean(end) || (failure_ && !(follows_another(*failure_) && !follows_another(end)))) {
        continue;
      }
      if (!failure_) failed_at_ = clock_.monotonic();
      failure_ = end;
    }
    return ended;
  }

  void hasten() {
    if (!failure_) return;
    const Nanoseconds since = clock_.monotonic() - failed_at_;
    if (since > kEndByThemselves + kEndByRequest) {
      signal_all(SIGKILL);
    } else if (since > kEndByThemselves) {
      signal_all(SIGTERM);
    }
  }

  void pass_on(int signal) {
    signal_all(stopped_ ? SIGKILL : signal);
    stopped_ = true;
  }

  void signal_all(int signal) {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, signal);
    }
  }

  SystemClock clock_;
  sigset_t signals_;
  std::vector<pid_t> pids_;
  std::optional<RankEnd> failure_;
  Nanoseconds failed_at_ = 0;
  bool stopped_ = false;
};

}  // namespace

void start_ranks(int workers, char** argv) {
  const launch::CorePlan plan = launch::plan_usable_cores(workers, 0, true);
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const char* text = std::getenv(environment::kRestarts);
  const int restarts = text == nullptr ? 0 : std::atoi(text);
  for (int attempt = 0;; ++attempt) {
    set_environment(plan);
    RankGroup group(plan, argv, signals);
    group.wait();
    if (!group.failure()) ::_exit(group.stopped() ? exit_code(ErrorKind::kInterrupted) : 0);
    const RankEnd& end = *group.failure();
    if (group.stopped()) ::_exit(exit_code(ErrorKind::kInterrupted));
    if (attempt < restarts) {
      std::fprintf(stderr, "warning: %s; starting all %d ranks again (%d of %d)\n",
                   describe(end).c_str(), workers, attempt + 1, restarts);
      continue;
    }
    std::fprintf(stderr, "error: %s\n", describe(end).c_str());
    ::_exit(WIFSIGNALED(end.status) ? exit_code(ErrorKind::kWorker) : WEXITSTATUS(end.status));
  }
}

}  // namespace lockstep::library
