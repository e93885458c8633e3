#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/predict/series_table.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// Largest epoch, batch or run that an option accepts: more is a typing error.
inline constexpr std::int64_t kMostExamples = 1'000'000'000'000;

/// Where predictions and advice take their measurements from, as options give it.
struct MeasuredSource {
  std::string command;        ///< that takes these options
  std::string table;          ///< a measurements table; empty = the store
  std::string store_path;     ///< used when `table` is empty
  std::string study;          ///< of the store; empty = all runs
  std::string model;          ///< only rows of this model; empty = all
  std::string series_column;  ///< column of the table that names the series; empty = by content

  predict::RowsFrom from() const {
    return table.empty() ? predict::RowsFrom::kStore : predict::RowsFrom::kTable;
  }
};

/// --from, --study, --model and --series-column.
void add_source_options(CLI::App& command, MeasuredSource& source);

/// --epochs and --examples of the job that is predicted or chosen for; 0 = not given.
void add_job_options(CLI::App& command, std::int64_t& epochs, std::int64_t& examples);

struct MeasuredRows {
  std::vector<record::Measurement> rows;
  std::map<std::string, std::int64_t> rooms;  ///< see collect::host_rooms(); empty for a table
};

/// The rows of the source. Of a table those that cannot be measurements (zero, text for a number,
/// an unknown unit) are left out with a warning on stderr. Throws kData.
MeasuredRows measured_rows(const MeasuredSource& source);

/// The series of the source; see predict::job_series().
std::vector<predict::TableSeries> measured_series(const MeasuredSource& source);

}  // namespace lockstep::cli
