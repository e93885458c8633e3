#pragma once

#include <string>
#include <vector>

#include "lockstep/launch/cluster/host_file.h"
#include "lockstep/launch/process/child_process.h"

namespace lockstep::launch {

/// How the workers of a job are spread over hosts.
struct JobShape {
  int workers = 1;
  int nodes = 1;
  int workers_per_node = 1;  ///< on a full host
};

/// Where the user wants a job to run in a cluster. Empty = the cluster's default. "{workers}",
/// "{nodes}" and "{workers_per_node}" are replaced by the numbers of the job.
struct ClusterOptions {
  std::string hostfile;   ///< of mpirun or ssh
  std::string partition;  ///< of Slurm, as the rest
  std::string account;
  std::string time;
  std::string gres;
  int nodes = 0;             ///< hosts to spread over; 0 = as few as fit the workers
  int workers_per_node = 0;  ///< 0 = all on one host, or workers / nodes
  std::string setup;         ///< file that a batch job sources first: module load, conda activate

  /// Throws kUsage when the workers cannot be spread equally.
  JobShape shape(int workers) const;
};

/// The same for Lockstep's own workers, which need not be spread equally.
JobShape training_shape(int workers, const ClusterOptions& options);

/// The workers of one run as some launcher is to start them.
struct WorkerJob {
  std::string program;
  std::vector<std::string> arguments;
  int workers = 1;
  int threads = 1;  ///< per worker
  bool oversubscribe = false;
  bool uses_mpi = false;
  std::string name = "lockstep";           ///< of the job, where there is such
  std::vector<std::string> environment{};  ///< "NAME=value"; what is secret comes in here
};

/// One mpirun for all workers. The secret stays out of its command line.
ProcessSpec mpirun_command(const WorkerJob& job, const ClusterOptions& options);

/// One srun for all workers: a new job, or a step inside an allocation.
ProcessSpec srun_command(const WorkerJob& job, const ClusterOptions& options);

/// One ssh for each worker, hosts filled in the order of the file. The secret goes in through
/// standard input, whose end also ends the worker when this program dies. Throws kUsage when the
/// hosts have too few slots.
std::vector<ProcessSpec> ssh_commands(const WorkerJob& job, const std::vector<HostSlots>& hosts,
                                      const std::string& ssh_program);

/// `text` with every placeholder of a ClusterOptions replaced.
std::string fill_shape(const std::string& text, const JobShape& shape);

/// The command as a person would type it; values of LOCKSTEP_SECRET are not in it.
std::string shell_text(const ProcessSpec& spec);
/// One word as a shell takes it.
std::string shell_quoted(const std::string& word);

}  // namespace lockstep::launch
