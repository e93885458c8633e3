#pragma once

#include <cstdint>
#include <string>

#include "lockstep/predict/phases/phase_model.h"
#include "lockstep/record/calibration.h"
#include "lockstep/record/collectives_result.h"

namespace lockstep::predict {

/// Latency, bandwidth and peak that fit the timed all-reduces of `workers` ranks over `backend`.
/// Between hosts the calibration is of the hosts that took part, not of `machine`.
record::LinkCalibration fit_calibration(const record::CollectivesResult& result,
                                        record::Backend backend, int workers,
                                        const record::Machine& machine, std::int64_t wall_ns);

/// The calibrated link for messages of this size, as fit_link() has it; its stored fit where the
/// points cannot give one.
Link link_for(const record::LinkCalibration& calibration, double message_bytes);

/// The same as fit_link_near() has it.
Link link_near(const record::LinkCalibration& calibration, double message_bytes);

}  // namespace lockstep::predict
