#pragma once

#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/cluster/launchers.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "lockstep/record/collectives_result.h"

namespace lockstep::launch {

struct CollectivesRequest {
  int workers = 2;
  record::Backend backend = record::Backend::kAuto;
  Bytes most{64 << 20};
  double seconds_per_size = 0.3;
  bool oversubscribe = false;
  std::string interface;  ///< network between hosts; empty = chosen
  LauncherOptions launcher;
};

/// Starts the workers and blocks until they have timed all sizes. Throws as a training run does,
/// and kInterrupted when the user asked to stop.
record::CollectivesResult run_collectives(const CollectivesRequest& request, Console& console,
                                          SignalInbox& signals, const Clock& clock);

}  // namespace lockstep::launch
