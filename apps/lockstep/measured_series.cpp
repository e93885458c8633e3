#include "measured_series.h"

#include <algorithm>
#include <map>

#include "lockstep/base/error.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/store/store.h"
#include "stored_measurements.h"

namespace lockstep::cli {
namespace {

/// Only what tells configurations apart stays in the notes; run and epoch numbers would make every
/// row a series of its own. Warm-up epochs and oversubscribed runs say nothing about others.
std::vector<record::Measurement> configurations(std::vector<record::Measurement> rows) {
  static const std::vector<std::string> kept{"strategy", "threads_per_worker"};
  std::map<std::string, std::optional<std::int64_t>> newest_epochs;
  std::erase_if(rows, [](const record::Measurement& row) {
    return row.notes.count("warm_up") != 0 || row.notes.count("unreliable") != 0;
  });
  for (record::Measurement& row : rows) {
    newest_epochs[row.model] = row.epochs;
    std::erase_if(row.notes, [](const auto& note) {
      return std::find(kept.begin(), kept.end(), note.first) == kept.end();
    });
  }
  for (record::Measurement& row : rows) {
    if (row.metric != "total_time") row.epochs = newest_epochs[row.model];
  }
  return rows;
}

int directness(predict::Metric metric) {
  switch (metric) {
    case predict::Metric::kThroughput:
      return 3;
    case predict::Metric::kEpochTime:
      return 2;
    case predict::Metric::kStepTime:
      return 1;
    case predict::Metric::kTotalTime:
      return 0;
  }
  return 0;
}

}  // namespace

std::vector<record::Measurement> measured_rows(const MeasuredSource& source) {
  if (!source.table.empty()) return import::read_measurements_file(source.table).rows;
  store::Store store(source.store_path);
  return stored_measurements(store, source.study).rows;
}

std::vector<predict::TableSeries> series_of_rows(std::vector<record::Measurement> rows, bool stored,
                                                 const std::string& series_column) {
  if (stored) rows = configurations(std::move(rows));
  std::vector<predict::TableSeries> all = predict::series_of(rows, series_column);
  if (!series_column.empty()) return all;
  std::map<std::string, int> best;
  for (const predict::TableSeries& one : all) {
    int& level = best.emplace(one.name, -1).first->second;
    level = std::max(level, directness(one.metric));
  }
  std::erase_if(all, [&](const predict::TableSeries& one) {
    return directness(one.metric) < best[one.name];
  });
  return all;
}

std::vector<predict::TableSeries> measured_series(const MeasuredSource& source) {
  return series_of_rows(measured_rows(source), source.table.empty(), source.series_column);
}

}  // namespace lockstep::cli
