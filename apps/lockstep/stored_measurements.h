#pragma once

#include <string>
#include <vector>

#include "lockstep/analyze/step_breakdown.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/delays_table.h"
#include "lockstep/store/store.h"

namespace lockstep::cli {

struct StoredMeasurements {
  std::vector<record::Measurement> rows;
  std::int64_t runs = 0;                  ///< that the rows are of
  std::int64_t left_out = 0;              ///< runs that did not finish
  std::vector<report::RunDelays> delays;  ///< of runs of our own
};

/// The finished runs of a store, or of one study in it, as rows of the measurements table; imported
/// runs as they were imported. Throws kData when there are none, naming the studies that there are.
StoredMeasurements stored_measurements(store::Store& store, const std::string& study);

/// The rows of one run. Throws kData for an unknown id.
std::vector<record::Measurement> run_rows(store::Store& store, const store::RunSummary& summary);

/// Where the time of a stored run's steps went; without ranks when no steps were recorded.
analyze::StepBreakdown stored_breakdown(store::Store& store, const store::StoredRun& run);

}  // namespace lockstep::cli
