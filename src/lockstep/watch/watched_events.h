#pragma once

#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/watch/merge_ranks.h"

namespace lockstep::watch {

/// Completes what is recorded of a command by what the watcher saw: device, threads, parameters
/// and, where the caller does not know them, batch, epochs and examples. Counts that are
/// unknown stay 0.
void describe(const WatchedRun& run, record::RunStarted& started);

/// The events between the start and the end of the run, as the workers of `lockstep train` would
/// send them. `reported` are epochs read from the output of the script, or none: losses and
/// accuracies are taken from there, times from the watcher.
std::vector<record::Event> events(const WatchedRun& run,
                                  const std::vector<record::EpochResult>& reported);

}  // namespace lockstep::watch
