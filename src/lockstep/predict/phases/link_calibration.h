#pragma once

#include <cstdint>
#include <string>

#include "lockstep/record/calibration.h"
#include "lockstep/record/collectives_result.h"

namespace lockstep::predict {

/// Latency, bandwidth and peak that fit the timed all-reduces of `workers` ranks over `backend`.
/// Between hosts the calibration is of the hosts that took part, not of `machine`.
record::LinkCalibration fit_calibration(const record::CollectivesResult& result,
                                        record::Backend backend, int workers,
                                        const record::Machine& machine, std::int64_t wall_ns);

}  // namespace lockstep::predict
