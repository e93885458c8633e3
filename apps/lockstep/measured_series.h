#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/series_table.h"

namespace lockstep::cli {

/// Of an epoch, a batch or a run, as an option: what is above is a slip of the keyboard.
inline constexpr std::int64_t kMostExamples = 1'000'000'000'000;

/// Where predictions take their measurements from.
struct MeasuredSource {
  std::string table;          ///< a measurements table; empty = the store
  std::string store_path;     ///< used when `table` is empty
  std::string study;          ///< of the store; empty = all runs
  std::string model;          ///< only rows of this model; empty = all
  std::string series_column;  ///< column of the table that names the series; empty = by content
};

/// The rows of the source. Of a table those that cannot be measurements (zero, text for a number,
/// an unknown unit) are left out with a warning on stderr. Throws kData.
std::vector<record::Measurement> measured_rows(const MeasuredSource& source);

/// The series of rows, one metric a configuration: where several were measured the most direct one
/// (throughput, epoch time, step time, total time); with a series column, all metrics. `stored`:
/// rows of a store, of which warm-up epochs and oversubscribed runs are left out. Throws kData when
/// nothing is left.
std::vector<predict::TableSeries> series_of_rows(std::vector<record::Measurement> rows, bool stored,
                                                 const std::string& series_column = "");

/// The series of the source, without warm-up epochs and oversubscribed runs, one metric a
/// configuration: where several were measured the most direct one (throughput, epoch time, step
/// time, total time). With a series column, all metrics.
std::vector<predict::TableSeries> measured_series(const MeasuredSource& source);

}  // namespace lockstep::cli
