#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep::comm {

/// Which rank this process is, and how it finds the others, according to what started it.
struct Placement {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  /// Number of the rank's GPU among those its process sees; 0 on CPUs. Set by the worker, which can
  /// count them.
  int gpu = 0;
  /// Which GPU of the host that is, as its PCI id; empty on CPUs.
  std::string gpu_id;
  /// Number of hosts of the run where the starter provides it, else 1.
  int nodes = 1;
  /// "lockstep", "openmpi", "torchrun" or "slurm"; empty for a process started by itself.
  std::string starter;
  /// Whether MPI can start in this process as that rank: mpirun or `srun --mpi=pmix` started it.
  bool mpi = false;
  /// A memfd that all workers of this host inherited; absent when there is none.
  std::optional<int> shared_memory_fd;
  /// Host on which rank 0 runs the coordinator; empty for a run of one.
  std::string rendezvous_host;
  /// 0 = chosen from `job`, the same on every rank.
  int rendezvous_port = 0;
  /// Text that is the same on all ranks of this run and different in every other run.
  std::string job;
};

using GetEnvironment = std::function<const char*(const char*)>;

/// Reads the variables of `lockstep`, Open MPI's mpirun, torchrun or Slurm's srun, in this order:
/// the first that are set count. LOCKSTEP_RENDEZVOUS=HOST[:PORT], or MASTER_ADDR and MASTER_PORT,
/// replace the place of the coordinator for any starter. Without any, a run of one. Throws kUsage
/// for values that contradict each other.
Placement placement_from_environment(const GetEnvironment& get);

/// The number of tasks of a node in Slurm's notation, "2(x3),1" for 2, 2, 2 and 1; throws kUsage.
int tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace lockstep::comm
