#include "lockstep/launch/cluster/launchers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "lockstep/base/error.h"
#include "lockstep/launch/local_workers.h"
#include "lockstep/launch/thread_waits.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/record/train_arguments.h"

namespace lockstep::launch {
namespace {

using record::Launcher;

void require(const std::string& program, const char* package) {
  if (find_program(program)) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("{} was not found in PATH", program),
              fmt::format("install it (Debian: {}) or choose another --launcher", package));
}

Launch launch_locally(const WorkerCommand& command) {
  record::RunSpec spec = command.spec;
  const CorePlan plan = plan_workers(spec);
  auto local = std::make_shared<LocalWorkers>();
  std::vector<std::string> environment = worker_environment();
  for (std::string& setting : thread_wait_environment(plan)) {
    environment.push_back(std::move(setting));
  }
  Launch launch;
  launch.specs = local->specs(require_worker_program(), command.arguments, plan, environment);
  launch.kept = std::move(local);
  return launch;
}

WorkerJob job_of(const WorkerCommand& command) {
  WorkerJob job;
  job.program = require_worker_program();
  job.arguments = command.arguments;
  job.workers = command.spec.workers;
  job.threads = command.spec.threads_per_worker;
  job.oversubscribe = command.spec.oversubscribed;
  job.uses_mpi = command.spec.backend == record::Backend::kMpi;
  job.name = command.name;
  job.environment = {"LOCKSTEP_SECRET=" + make_secret()};
  return job;
}

}  // namespace

std::vector<std::string> worker_arguments(const record::TrainRequest& request) {
  std::vector<std::string> arguments{"train"};
  for (std::string& argument : record::train_arguments(request))
    arguments.push_back(std::move(argument));
  return arguments;
}

void check_launcher_options(const LauncherOptions& options) {
  if (options.launcher == Launcher::kSshHostfile && options.cluster.hostfile.empty()) {
    throw Error(ErrorKind::kUsage, "--launcher ssh-hostfile needs a host file",
                "add --hostfile FILE with one line per host: node1 slots=4");
  }
  const ClusterOptions& cluster = options.cluster;
  const bool of_slurm = !cluster.partition.empty() || !cluster.account.empty() ||
                        !cluster.time.empty() || !cluster.gres.empty() || !cluster.setup.empty() ||
                        cluster.nodes != 0 || cluster.workers_per_node != 0;
  if (of_slurm && options.launcher != Launcher::kSlurm) {
    throw Error(ErrorKind::kUsage,
                "--partition, --account, --time, --gres, --setup, --nodes and --workers-per-node "
                "apply to Slurm only",
                "add --launcher slurm");
  }
  if (cluster.nodes < 0) throw Error(ErrorKind::kUsage, "--nodes must not be negative");
}

Launch make_launch(const WorkerCommand& command, const LauncherOptions& options) {
  if (options.local()) return launch_locally(command);
  if (options.launcher == Launcher::kMpi) {
    require("mpirun", "openmpi-bin");
    WorkerJob job = job_of(command);
    if (!options.cluster.hostfile.empty()) {
      // Rank 0 runs there; mpirun passes only its own host to the workers.
      const auto hosts = read_host_file(options.cluster.hostfile);
      job.environment.push_back("LOCKSTEP_RENDEZVOUS=" + hosts.front().address());
    }
    return {{mpirun_command(job, options.cluster)}, nullptr};
  }
  if (options.launcher == Launcher::kSlurm) {
    require("srun", "slurm-client");
    return {{srun_command(job_of(command), options.cluster)}, nullptr};
  }
  // Another remote shell with the interface of ssh may be used instead.
  const char* shell = std::getenv("LOCKSTEP_SSH");
  const std::string ssh = shell != nullptr ? shell : "ssh";
  require(ssh, "openssh-client");
  auto hosts = read_host_file(options.cluster.hostfile);
  std::stable_partition(hosts.begin(), hosts.end(), [&](const HostSlots& host) {
    const auto& doubtful = options.doubtful_hosts;
    return std::find(doubtful.begin(), doubtful.end(), host.host) == doubtful.end();
  });
  return {ssh_commands(job_of(command), hosts, ssh), nullptr};
}

Launch make_launch(const record::TrainRequest& request, const LauncherOptions& options) {
  record::TrainRequest planned = request;
  if (options.local()) {
    plan_workers(planned.spec);
    planned.memory_bytes = 0;  // set below, so that it applies from a worker's first allocation on
  }
  Launch launch = make_launch(
      WorkerCommand{planned.spec, worker_arguments(planned), "lockstep-" + request.spec.recipe},
      options);
  if (!options.local()) return launch;
  for (ProcessSpec& spec : launch.specs) {
    spec.data_limit = request.memory_bytes / launch.specs.size();
  }
  return launch;
}

std::string launch_text(const Launch& launch) {
  std::string text;
  for (const ProcessSpec& spec : launch.specs) {
    text += (text.empty() ? "" : "\n") + shell_text(spec);
  }
  return text;
}

}  // namespace lockstep::launch
