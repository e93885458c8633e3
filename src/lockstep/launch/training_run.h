#pragma once

#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/launch/cluster/launchers.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/launch/restart_policy.h"
#include "lockstep/launch/worker_group.h"
#include "lockstep/record/run_sink.h"
#include "lockstep/record/train_request.h"

namespace lockstep::launch {

/// How the cores of this machine are shared out among the workers that `spec` asks for; what it
/// left open (0) is filled in. Throws kUsage when there are too few cores.
CorePlan plan_workers(record::RunSpec& spec);

struct TrainingOutcome {
  GroupOutcome group;
  /// As sent to the sinks; kFailed for a run that never began, for which they received nothing.
  record::RunStatus status = record::RunStatus::kFailed;
  bool began = false;
};

/// How a run is started, and started again.
struct TrainingPlan {
  LauncherOptions launcher;
  RestartPolicy restarts;
};

/// Trains with the workers the request asks for and blocks until all have ended. The sinks get the
/// events of rank 0 and, in any case, the end of a run that began: one run, however
/// often it had to be started again. `machine` is this host's, which is recorded for workers on it.
/// Throws kEnvironment when workers cannot be started.
TrainingOutcome run_training(const record::TrainRequest& request, const TrainingPlan& plan,
                             const record::Machine& machine, std::vector<record::RunSink*> sinks,
                             Console& console, SignalInbox& signals, const Clock& clock);

/// What the worker that failed wrote last, on stderr.
void show_last_lines(const GroupOutcome& outcome, Console& console);

}  // namespace lockstep::launch
