#pragma once

#include "lockstep/launch/collectives_run.h"
#include "lockstep/record/calibration.h"

namespace lockstep::cli {

/// Latency and bandwidth that fit the rows.
record::LinkCalibration calibrate(const record::CollectivesResult& result,
                                  const launch::CollectivesRequest& request,
                                  const record::Machine& machine, std::int64_t wall_ns);

}  // namespace lockstep::cli
