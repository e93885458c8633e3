#pragma once

#include <vector>

#include "console.h"
#include "lockstep/base/clock.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/launch/worker_group.h"
#include "lockstep/record/train_request.h"
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

/// Trains on this machine with the workers of `plan` and blocks until all have ended. The sinks get
/// the events of rank 0 and, whatever happens to it, the end of a run that began. Throws
/// kEnvironment when workers cannot be started.
TrainingOutcome run_training(const record::TrainRequest& request, const launch::CorePlan& plan,
                             const record::Machine& machine, std::vector<RunSink*> sinks,
                             Console& console, launch::SignalInbox& signals, const Clock& clock);

/// What the worker that failed wrote last, on stderr.
void show_last_lines(const launch::GroupOutcome& outcome, Console& console);

}  // namespace lockstep::cli
