#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "console.h"
#include "launchers.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/signal_inbox.h"
#include "lockstep/record/calibration.h"

namespace lockstep::cli {

struct CollectivesRequest {
  int workers = 2;
  std::string backend;
  Bytes most{64 << 20};
  double seconds_per_size = 0.3;
  bool oversubscribe = false;
  std::string interface;  ///< network between hosts; empty = chosen
  LauncherOptions launcher;
};

/// One size as the workers told it.
struct CollectivesRow {
  record::CollectivePoint point;
  double deviation_s = 0;
  std::int64_t wrong = 0;  ///< elements that were not the sum
};

struct CollectivesResult {
  std::vector<CollectivesRow> rows;
  int nodes = 1;     ///< hosts that the workers were on
  std::string host;  ///< that of rank 0

  std::int64_t wrong() const;
};

/// Starts the workers and blocks until they have timed all sizes. Throws as a training run does,
/// and kInterrupted when the user asked to stop.
CollectivesResult run_collectives(const CollectivesRequest& request, Console& console,
                                  launch::SignalInbox& signals, const Clock& clock);

/// Latency and bandwidth that fit the rows.
record::LinkCalibration calibrate(const CollectivesResult& result,
                                  const CollectivesRequest& request, const record::Machine& machine,
                                  std::int64_t wall_ns);

}  // namespace lockstep::cli
