#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/launch/cluster/job_command.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/record/train_request.h"

namespace lockstep::launch {

/// How the workers of a run are started.
struct LauncherOptions {
  record::Launcher launcher = record::Launcher::kLocal;
  ClusterOptions cluster;
  /// Hosts of the host file that lost a worker: taken last. For ssh-hostfile.
  std::vector<std::string> doubtful_hosts;
  bool local() const { return launcher == record::Launcher::kLocal; }
};

/// Throws kUsage for combinations that make no sense.
void check_launcher_options(const LauncherOptions& options);

/// What the workers of a job are to do.
struct WorkerCommand {
  record::RunSpec spec;                ///< workers, threads, back end, oversubscribed
  std::vector<std::string> arguments;  ///< of lockstep-worker
  std::string name;                    ///< of the job
};

/// The processes that make up one attempt at a run, and their resources.
struct Launch {
  std::vector<ProcessSpec> specs;
  std::shared_ptr<const void> kept;  ///< must live as long as the processes
};

/// Starts nothing. For kLocal, cores are assigned again to the workers of the command.
/// Throws kUsage or kEnvironment when the launcher or the worker program is not there.
Launch make_launch(const WorkerCommand& command, const LauncherOptions& options);
/// The same for a training run.
Launch make_launch(const record::TrainRequest& request, const LauncherOptions& options);

/// Arguments of lockstep-worker for that request.
std::vector<std::string> worker_arguments(const record::TrainRequest& request);

/// The commands of an attempt, a line each, as a person would type them.
std::string launch_text(const Launch& launch);

}  // namespace lockstep::launch
