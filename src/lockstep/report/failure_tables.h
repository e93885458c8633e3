#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "lockstep/report/table.h"
#include "lockstep/simulate/failures.h"

namespace lockstep::report {

/// A job on workers that fail.
struct FailureRow {
  std::int64_t workers = 1;
  simulate::FailingJob job;
  double best_interval_s = 0;                     ///< simulated optimum
  simulate::JobOutcome waits;                     ///< all workers are needed
  std::optional<simulate::JobOutcome> goes_on{};  ///< with fewer, down to --min-workers
  double price_per_host_hour = 0;                 ///< 0 = not given
};

/// One row per count, two where the job may go on with fewer workers.
Table failures_table(std::span<const FailureRow> rows);
nlohmann::json failure_json(const FailureRow& row);

}  // namespace lockstep::report
