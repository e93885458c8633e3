#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep::comm {

/// Which rank this process is, and how it finds the others. Given by whoever started it.
struct Placement {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  /// Hosts of the run, as far as the starter tells; 1 when it does not.
  int nodes = 1;
  /// "lockstep", "openmpi", "torchrun" or "slurm"; empty for a process started by itself.
  std::string starter;
  /// A memfd that all workers of this host inherited; absent when there is none.
  std::optional<int> shared_memory_fd;
  /// Host on which rank 0 keeps the run together; empty for a run of one.
  std::string rendezvous_host;
  /// 0 = chosen from `job`, the same on every rank.
  int rendezvous_port = 0;
  /// Text that the ranks of this run have in common and no other run has.
  std::string job;
};

using GetEnvironment = std::function<const char*(const char*)>;

/// Reads what `lockstep`, Open MPI's mpirun, torchrun or Slurm's srun say, in this order: the first
/// whose variables are there counts. LOCKSTEP_RENDEZVOUS=HOST[:PORT], or MASTER_ADDR and
/// MASTER_PORT, replace the place to meet whoever the starter is. Without any, a run of one. Throws
/// kUsage for values that do not fit together.
Placement placement_from_environment(const GetEnvironment& get);

/// The tasks of a node in Slurm's form, "2(x3),1" for 2, 2, 2 and 1; throws kUsage.
int tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace lockstep::comm
