#include "lockstep/comm/backends/mpi/mpi_process.h"

#include <mpi.h>

#include <cstdlib>
#include <mutex>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

/// Far beyond any timeout of a run: the caller watches the time.
constexpr Seconds kForever{1e9};

/// Settings of Open MPI that suit training; those of the user win. By default it halves and
/// doubles, which uses each direction of a link in turn: 49 to 58 % of a shaped link of 4 hosts
/// against 89 % with its segmented ring. And a thread that waits would keep the training thread
/// from its core.
void prefer_settings() {
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  if (std::getenv("OMPI_MCA_coll_tuned_use_dynamic_rules") != nullptr) return;
  ::setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
  ::setenv("OMPI_MCA_coll_tuned_allreduce_algorithm", "5", 0);
}

/// Without a PMIx server, MPI_Init ends the process with a page about how to build MPI.
void require_pmix() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (!is_set("SLURM_PROCID") || is_set("PMIX_RANK") || is_set("OMPI_COMM_WORLD_RANK")) return;
  throw Error(ErrorKind::kUsage, "srun started this rank without PMIx, which MPI needs",
              "add --mpi=pmix to srun, or use --backend gloo");
}

bool is_true(int (*question)(int*)) {
  int answer = 0;
  question(&answer);
  return answer != 0;
}

}  // namespace

MpiProcess::MpiProcess() {
  if (is_true(MPI_Finalized))
    throw Error(ErrorKind::kUsage, "MPI has ended in this process and cannot be started again",
                "join the job before MPI_Finalize");
  int threads = MPI_THREAD_SINGLE;
  if (is_true(MPI_Initialized)) {
    MPI_Query_thread(&threads);
  } else {
    require_pmix();
    prefer_settings();
    thread_.add([&] {
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    });
    thread_.wait(kForever);
    ours_ = true;
  }
  // Each communicator calls MPI from its own thread.
  if (threads < MPI_THREAD_MULTIPLE)
    throw Error(ErrorKind::kUsage, "MPI was initialised without support for several threads",
                "call MPI_Init_thread with MPI_THREAD_MULTIPLE, or use another back end");
}

MpiProcess::~MpiProcess() {
  if (!ours_) return;
  thread_.add([] { MPI_Finalize(); });
  thread_.wait(kForever);
}

std::shared_ptr<MpiProcess> MpiProcess::get() {
  static std::mutex mutex;
  static std::weak_ptr<MpiProcess> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<MpiProcess> process = known.lock();
  if (!process) known = process = std::make_shared<MpiProcess>();
  return process;
}

}  // namespace lockstep::comm
