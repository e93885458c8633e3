#include "measured_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/base/error.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/record/measurement_columns.h"
#include "lockstep/store/store.h"
#include "stored_measurements.h"

namespace lockstep::cli {
namespace {

/// Of the settings of stored runs only the strategy and the threads set series apart. Warm-up
/// epochs and oversubscribed runs are left out.
std::vector<record::Measurement> configurations(std::vector<record::Measurement> rows) {
  std::map<std::string, std::optional<std::int64_t>> newest_epochs;
  std::erase_if(
      rows, [](const record::Measurement& row) { return row.warm_up || !row.unreliable.empty(); });
  if (rows.empty()) {
    throw Error(ErrorKind::kData, "all runs were oversubscribed: their timings are unreliable",
                "train with no more workers x threads than there are cores");
  }
  for (record::Measurement& row : rows) {
    newest_epochs[row.model] = row.epochs;
    row.notes.clear();
    row.source.clear();
    row.series.clear();
  }
  for (record::Measurement& row : rows) {
    if (row.metric != "total_time") row.epochs = newest_epochs[row.model];
  }
  return rows;
}

/// Predictions need a time and a worker count: of runs that lack one, which it is.
void require_times(const std::vector<record::Measurement>& rows) {
  bool timed = false;
  for (const record::Measurement& row : rows) {
    if (!predict::metric_from_name(row.metric)) continue;
    if (row.workers) return;
    timed = true;
  }
  if (timed) {
    throw Error(ErrorKind::kData, "the number of workers of the runs that tell a time is not known",
                "import them anew: lockstep import --replace --set workers=N FILE");
  }
  throw Error(ErrorKind::kData,
              "no run tells a time: throughput, step_time, epoch_time and total_time are missing",
              "import or train a run that does");
}

/// One bad value must not cost the answers about all other series: it is named and left out.
std::vector<record::Measurement> table_rows(const MeasuredSource& source) {
  constexpr std::size_t kMostNamed = 5;
  import::MeasurementsTable table =
      import::read_measurements_file(source.table, import::BadRow::kLeaveOut);
  for (std::size_t i = 0; i < std::min(table.left_out.size(), kMostNamed); ++i) {
    fmt::print(stderr, "warning: {}; the row is left out\n", table.left_out[i]);
  }
  if (table.left_out.size() > kMostNamed) {
    fmt::print(stderr, "warning: {} more rows are left out for such reasons\n",
               table.left_out.size() - kMostNamed);
  }
  const auto unnamed = [&](const record::Measurement& row) {
    return record::column_text(row, source.series_column).empty();
  };
  if (source.series_column.empty() || std::all_of(table.rows.begin(), table.rows.end(), unnamed)) {
    return std::move(table.rows);
  }
  if (const std::size_t count = std::erase_if(table.rows, unnamed); count > 0) {
    fmt::print(stderr, "warning: {} no value in column '{}', left out\n",
               count == 1 ? "1 row has" : fmt::format("{} rows have", count), source.series_column);
  }
  return std::move(table.rows);
}

}  // namespace

std::vector<record::Measurement> measured_rows(const MeasuredSource& source) {
  std::vector<record::Measurement> rows;
  if (!source.table.empty() && !source.study.empty()) {
    throw Error(ErrorKind::kUsage, "--study names runs of the store, but a table is to be read",
                "leave out --study or --from");
  }
  if (source.table.empty()) {
    store::Store store(source.store_path);
    rows = stored_measurements(store, source.study).rows;
  } else {
    rows = table_rows(source);
  }
  if (source.model.empty()) return rows;
  std::erase_if(rows, [&](const record::Measurement& row) { return row.model != source.model; });
  if (rows.empty()) {
    throw Error(ErrorKind::kData, "nothing was measured of model '" + source.model + "'",
                "name a model as it stands in the measurements");
  }
  return rows;
}

std::vector<predict::TableSeries> series_of_rows(std::vector<record::Measurement> rows, bool stored,
                                                 const std::string& series_column) {
  if (stored) {
    require_times(rows);
    rows = configurations(std::move(rows));
  }
  std::vector<predict::TableSeries> all = predict::series_of(rows, series_column);
  if (!series_column.empty()) return all;
  for (predict::TableSeries& one : all) one.overhead_grows = stored;
  return predict::most_direct(std::move(all));
}

std::vector<predict::TableSeries> measured_series(const MeasuredSource& source) {
  return series_of_rows(measured_rows(source), source.table.empty(), source.series_column);
}

}  // namespace lockstep::cli
