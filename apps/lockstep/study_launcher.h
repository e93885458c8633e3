#pragma once

#include <functional>
#include <string>
#include <vector>

#include "console.h"
#include "lockstep/base/clock.h"
#include "lockstep/launch/signal_inbox.h"
#include "lockstep/record/machine.h"
#include "lockstep/record/train_request.h"
#include "run_sink.h"
#include "training_run.h"

namespace lockstep::cli {

/// Starts the workers of one run and blocks until they have ended; what they say goes to the sinks.
/// Completes the request (workers, threads, oversubscribed) where it was left open.
using TrainingLauncher = std::function<TrainingOutcome(
    record::TrainRequest& request, const record::Machine& machine, std::vector<RunSink*> sinks)>;

/// The launcher of that name: "local", processes of this machine. The references outlive it. Throws
/// kUsage for an unknown name.
TrainingLauncher make_training_launcher(const std::string& name, Console& console,
                                        launch::SignalInbox& signals, const Clock& clock);

}  // namespace lockstep::cli
