#pragma once

#include <string>
#include <vector>

#include "lockstep/launch/child_process.h"
#include "lockstep/launch/host_file.h"

namespace lockstep::launch {

/// What a user says about the place of a job in a cluster. Empty means: as the cluster does by
/// default. "{workers}" stands for the number of workers.
struct ClusterOptions {
  std::string hostfile;   ///< of mpirun or ssh
  std::string partition;  ///< of Slurm, as the rest
  std::string account;
  std::string time;
  std::string gres;
  int nodes = 0;
};

/// The workers of one run as some launcher is to start them.
struct WorkerJob {
  std::string program;
  std::vector<std::string> arguments;
  int workers = 1;
  bool oversubscribe = false;
  bool uses_mpi = false;
  std::string name = "lockstep";           ///< of the job, where there is such
  std::vector<std::string> environment{};  ///< "NAME=value"; what is secret comes in here
};

/// One mpirun for all workers. The secret stays out of its command line.
ProcessSpec mpirun_command(const WorkerJob& job, const ClusterOptions& options);

/// One srun for all workers: a job of its own, or a step inside an allocation.
ProcessSpec srun_command(const WorkerJob& job, const ClusterOptions& options);

/// One ssh for each worker, hosts filled in the order of the file. The secret goes in through
/// standard input, whose end also ends the worker when this program dies. Throws kUsage when the
/// hosts have too few slots.
std::vector<ProcessSpec> ssh_commands(const WorkerJob& job, const std::vector<HostSlots>& hosts,
                                      const std::string& ssh_program);

/// `text` with every "{workers}" replaced.
std::string fill_workers(const std::string& text, int workers);

/// The command as a person would type it; values of LOCKSTEP_SECRET are not in it.
std::string shell_text(const ProcessSpec& spec);
/// One word as a shell takes it.
std::string shell_quoted(const std::string& word);

}  // namespace lockstep::launch
