#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/series_table.h"

namespace lockstep::cli {

/// Where predictions take their measurements from.
struct MeasuredSource {
  std::string table;          ///< a measurements table; empty = the store
  std::string store_path;     ///< used when `table` is empty
  std::string series_column;  ///< column of the table that names the series; empty = by content
};

/// The rows of the source. From the store: throughput, times and validation metrics of each run's
/// epochs, the first epoch left out where there are others. Throws kData.
std::vector<record::Measurement> measured_rows(const MeasuredSource& source);

/// The series of the source, one metric a configuration: where several were measured the most
/// direct one (throughput, epoch time, step time, total time). With a series column, all metrics.
std::vector<predict::TableSeries> measured_series(const MeasuredSource& source);

}  // namespace lockstep::cli
