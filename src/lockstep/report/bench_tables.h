#pragma once

#include <span>

#include "lockstep/record/calibration.h"
#include "lockstep/record/collectives_result.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// Size, time, algbw, busbw and wrong elements, and below the latency and bandwidth that fit.
Table collectives_table(const record::CollectivesResult& result,
                        const record::LinkCalibration& link);

/// Calibrations of links, one per row.
Table links_table(std::span<const record::LinkCalibration> links);

/// Calibrations of devices, one per row.
Table device_table(std::span<const record::DeviceCalibration> devices);

}  // namespace lockstep::report
