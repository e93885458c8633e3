#pragma once

#include <vector>

#include "console.h"
#include "launchers.h"
#include "lockstep/base/clock.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/launch/worker_group.h"
#include "lockstep/record/train_request.h"
#include "restart_policy.h"
#include "run_sink.h"

namespace lockstep::cli {

/// How the cores of this machine are shared out among the workers that `spec` asks for; what it
/// left open (0) is filled in. Throws kUsage when there are too few cores.
launch::CorePlan plan_workers(record::RunSpec& spec);

struct TrainingOutcome {
  launch::GroupOutcome group;
  /// As the sinks were told; kFailed for a run that never began, of which they heard nothing.
  record::RunStatus status = record::RunStatus::kFailed;
  bool began = false;
};

/// How a run is started, and started again.
struct TrainingPlan {
  LauncherOptions launcher;
  RestartPolicy restarts;
};

/// Trains with the workers the request asks for and blocks until all have ended. The sinks get the
/// events of rank 0 and, whatever happens to it, the end of a run that began: one run, however
/// often it had to be started again. `machine` is this host's, which is recorded for workers on it.
/// Throws kEnvironment when workers cannot be started.
TrainingOutcome run_training(const record::TrainRequest& request, const TrainingPlan& plan,
                             const record::Machine& machine, std::vector<RunSink*> sinks,
                             Console& console, launch::SignalInbox& signals, const Clock& clock);

/// What the worker that failed wrote last, on stderr.
void show_last_lines(const launch::GroupOutcome& outcome, Console& console);

}  // namespace lockstep::cli
