#include "launcher_options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

namespace lockstep::cli {

void add_launcher_options(CLI::App& command, launch::LauncherOptions& options) {
  const std::string group = "Cluster";
  const auto add = [&](const char* name, auto& field, const char* type, const char* text) {
    return command.add_option(name, field, text)->type_name(type)->group(group);
  };
  add("--launcher", options.launcher, "local|mpi|slurm|ssh-hostfile",
      "Who starts the workers: this program on this machine, mpirun, srun, or ssh")
      ->capture_default_str();
  add("--hostfile", options.cluster.hostfile, "FILE",
      "Hosts for mpi and ssh-hostfile, 'node1 slots=4' a line");
  add("--nodes", options.cluster.nodes, "N", "Hosts to spread over (slurm)");
  add("--partition", options.cluster.partition, "NAME", "Partition of the job (slurm)");
  add("--account", options.cluster.account, "NAME", "Account of the job (slurm)");
  add("--time", options.cluster.time, "TIME", "Time limit of the job, as 1:30:00 (slurm)");
  add("--workers-per-node", options.cluster.workers_per_node, "N",
      "Workers on each host (slurm; default: all on one, or workers / --nodes)")
      ->check(CLI::Range(1, 65'536));
  add("--setup", options.cluster.setup, "FILE",
      "Shell file that a job of a study sources first: module load, conda activate (slurm)");
  add("--gres", options.cluster.gres, "LIST",
      "Resources of the job, as gpu:{workers_per_node} (slurm)");
}

}  // namespace lockstep::cli
