#include "lockstep/launch/cluster/job_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::launch {
namespace {

namespace environment = record::worker_environment;

/// What all three have in common: rank 0 writes the record to standard output, and SIGUSR1, which
/// mpirun and srun pass on to the workers, asks them to stop.
ProcessSpec spec_for(const WorkerJob& job, const std::string& program) {
  ProcessSpec spec;
  spec.program = program;
  spec.title = program;
  spec.environment = job.environment;
  spec.separate_errors = true;
  spec.events_in_output = true;
  spec.stop_signal = SIGUSR1;
  return spec;
}

void add_worker(const WorkerJob& job, ProcessSpec& spec) {
  spec.arguments.push_back(job.program);
  spec.arguments.insert(spec.arguments.end(), job.arguments.begin(), job.arguments.end());
}

void add_option(const std::string& name, const std::string& value, const JobShape& shape,
                std::vector<std::string>& arguments) {
  if (!value.empty()) arguments.push_back(name + "=" + fill_shape(value, shape));
}

std::string name_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

/// The shell line that the host of a worker runs. It starts in the folder of this program, as with
/// mpirun and srun: paths such as that of the checkpoints may be relative.
std::string remote_line(const WorkerJob& job, const std::vector<std::string>& placement) {
  std::string line = fmt::format("cd {} && read -r {} && export {} && exec env",
                                 shell_quoted(std::filesystem::current_path().string()),
                                 environment::kSecret, environment::kSecret);
  for (const std::string& assignment : placement) line += " " + shell_quoted(assignment);
  for (const std::string& assignment : job.environment) {
    if (name_of(assignment) != environment::kSecret) line += " " + shell_quoted(assignment);
  }
  line += " " + shell_quoted(job.program);
  for (const std::string& argument : job.arguments) line += " " + shell_quoted(argument);
  return line;
}

std::string secret_of(const WorkerJob& job) {
  for (const std::string& assignment : job.environment) {
    if (name_of(assignment) == environment::kSecret)
      return assignment.substr(assignment.find('=') + 1);
  }
  return "";
}

}  // namespace

JobShape training_shape(int workers, const ClusterOptions& options) {
  if (options.workers_per_node > 0) return options.shape(workers);
  const int nodes = std::min(std::max(1, options.nodes), workers);
  return {workers, nodes, (workers + nodes - 1) / nodes};
}

ProcessSpec mpirun_command(const WorkerJob& job, const ClusterOptions& options) {
  ProcessSpec spec = spec_for(job, "mpirun");
  spec.arguments = {"-np", fmt::format("{}", job.workers)};
  if (!options.hostfile.empty()) {
    spec.arguments.insert(spec.arguments.end(), {"--hostfile", options.hostfile});
  }
  if (job.oversubscribe) spec.arguments.push_back("--oversubscribe");
  for (const std::string& assignment : job.environment) {
    const bool secret = name_of(assignment) == environment::kSecret;
    spec.arguments.insert(spec.arguments.end(), {"-x", secret ? name_of(assignment) : assignment});
  }
  add_worker(job, spec);
  return spec;
}

ProcessSpec srun_command(const WorkerJob& job, const ClusterOptions& options) {
  ProcessSpec spec = spec_for(job, "srun");
  spec.arguments = {fmt::format("--ntasks={}", job.workers), "--kill-on-bad-exit=1",
                    "--job-name=" + job.name};
  if (options.nodes > 0) {
    // Slurm refuses hosts without a task.
    spec.arguments.push_back(fmt::format("--nodes={}", std::min(options.nodes, job.workers)));
  }
  const JobShape shape = training_shape(job.workers, options);
  add_option("--partition", options.partition, shape, spec.arguments);
  add_option("--account", options.account, shape, spec.arguments);
  add_option("--time", options.time, shape, spec.arguments);
  add_option("--gres", options.gres, shape, spec.arguments);
  if (job.threads > 1) spec.arguments.push_back(fmt::format("--cpus-per-task={}", job.threads));
  if (job.oversubscribe) spec.arguments.push_back("--overcommit");
  if (job.uses_mpi) spec.arguments.push_back("--mpi=pmix");
  add_worker(job, spec);
  return spec;
}

std::vector<ProcessSpec> ssh_commands(const WorkerJob& job, const std::vector<HostSlots>& hosts,
                                      const std::string& ssh_program) {
  std::vector<std::pair<std::size_t, int>> places;  // host, local rank
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (int slot = 0; slot < hosts[host].slots; ++slot) places.emplace_back(host, slot);
  }
  if (places.size() < static_cast<std::size_t>(job.workers)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("the host file has {} slots for {} workers", places.size(), job.workers),
        "add hosts or slots, or ask for fewer workers");
  }
  places.resize(static_cast<std::size_t>(job.workers));
  const std::size_t used_hosts = places.back().first + 1;
  std::vector<ProcessSpec> specs;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto [host, local_rank] = places[rank];
    std::size_t local_size = 0;
    for (const auto& place : places) local_size += place.first == host;
    ProcessSpec spec = spec_for(job, ssh_program);
    spec.title = fmt::format("rank {} on {}", rank, hosts[host].host);
    spec.host = hosts[host].host;
    spec.environment.clear();
    spec.input = secret_of(job) + "\n";
    spec.arguments = {
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=15",
        hosts[host].host,
        remote_line(job, {fmt::format("{}={}", environment::kRank, rank),
                          fmt::format("{}={}", environment::kWorldSize, job.workers),
                          fmt::format("{}={}", environment::kLocalRank, local_rank),
                          fmt::format("{}={}", environment::kLocalSize, local_size),
                          fmt::format("{}={}", environment::kNodes, used_hosts),
                          fmt::format("{}={}", environment::kRendezvous, hosts[0].address()),
                          fmt::format("{}=1", environment::kParentPipe)})};
    specs.push_back(std::move(spec));
  }
  return specs;
}

JobShape ClusterOptions::shape(int workers) const {
  if (nodes <= 0 && workers_per_node <= 0) return {workers, 1, workers};
  const int per_node = workers_per_node > 0 ? std::min(workers_per_node, workers)
                                            : (workers + nodes - 1) / std::max(1, nodes);
  const int hosts = (workers + per_node - 1) / per_node;
  if (hosts * per_node != workers || (nodes > 0 && hosts > nodes)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{} workers cannot be spread evenly over {} with {} each", workers,
                    counted(nodes > 0 ? nodes : hosts, "host"), counted(per_node, "worker")),
        "choose other --workers, --nodes or --workers-per-node");
  }
  return {workers, hosts, per_node};
}

std::string fill_shape(const std::string& text, const JobShape& shape) {
  std::string filled = text;
  for (const auto& [place, number] : {std::pair<std::string, int>{"{workers}", shape.workers},
                                      {"{nodes}", shape.nodes},
                                      {"{workers_per_node}", shape.workers_per_node}}) {
    for (std::size_t at = 0; (at = filled.find(place, at)) != std::string::npos;) {
      filled.replace(at, place.size(), std::to_string(number));
    }
  }
  return filled;
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_text(const ProcessSpec& spec) {
  std::string text = shell_quoted(spec.program);
  for (const std::string& argument : spec.arguments) text += " " + shell_quoted(argument);
  return text;
}

}  // namespace lockstep::launch
