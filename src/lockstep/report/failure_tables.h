#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "lockstep/report/render/table.h"
#include "lockstep/simulate/failing_jobs.h"

namespace lockstep::report {

/// One row per count, two where the job may go on with fewer workers.
Table failures_table(std::span<const simulate::JobForecast> rows);
nlohmann::json failure_json(const simulate::JobForecast& row);

}  // namespace lockstep::report
