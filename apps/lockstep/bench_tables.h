#pragma once

#include <span>

#include "collectives_run.h"
#include "lockstep/record/calibration.h"
#include "lockstep/report/table.h"

namespace lockstep::cli {

/// Size, time, algbw, busbw and wrong elements, and below the latency and bandwidth that fit.
report::Table collectives_table(const CollectivesResult& result,
                                const record::LinkCalibration& link);

/// Calibrations of links, one a row.
report::Table links_table(std::span<const record::LinkCalibration> links);

/// Calibrations of devices, one a row.
report::Table device_table(std::span<const record::DeviceCalibration> devices);

}  // namespace lockstep::cli
