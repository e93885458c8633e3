#include "measure/launcher_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  command
      .add_option_function<std::string>(
          "--launcher",
          [&options](const std::string& given) {
            options.launcher = record::parse_choice<record::Launcher>("--launcher", given);
          },
          "How to start the workers: on this machine, or with mpirun, srun or ssh")
      ->type_name(fmt::format("{}", fmt::join(record::names_of<record::Launcher>(), "|")))
      ->default_str(std::string(record::name_of(options.launcher)))
      ->group(group);
  add("--hostfile", options.cluster.hostfile, "FILE",
      "Host file for mpi and ssh-hostfile, with one line per host: node1 slots=4");
  add("--nodes", options.cluster.nodes, "N", "Number of hosts (slurm)");
  add("--partition", options.cluster.partition, "NAME", "Partition of the job (slurm)");
  add("--account", options.cluster.account, "NAME", "Account of the job (slurm)");
  add("--time", options.cluster.time, "TIME", "Time limit of the job, for example 1:30:00 (slurm)");
  add("--workers-per-node", options.cluster.workers_per_node, "N",
      "Workers per host (slurm; default: all on one, or workers / --nodes)")
      ->check(CLI::Range(1, 65'536));
  add("--setup", options.cluster.setup, "FILE",
      "Shell file that the jobs of a study source first: module load, conda activate (slurm)");
  add("--gres", options.cluster.gres, "LIST",
      "Resources of the job, for example gpu:{workers_per_node} (slurm)");
}

}  // namespace lockstep::cli
