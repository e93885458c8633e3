#include "measured_series.h"

#include <algorithm>
#include <map>

#include "lockstep/analyze/run_measurements.h"
#include "lockstep/base/error.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/store/store.h"

namespace lockstep::cli {
namespace {

/// Only what tells configurations apart stays in the notes; run and epoch numbers would make every
/// row a series of its own.
void keep_configuration(record::Measurement& row) {
  static const std::vector<std::string> kept{"strategy", "threads_per_worker"};
  std::erase_if(row.notes, [](const auto& note) {
    return std::find(kept.begin(), kept.end(), note.first) == kept.end();
  });
}

std::vector<record::Measurement> store_rows(const std::string& path) {
  store::Store store(path);
  std::vector<record::Measurement> rows;
  std::map<std::string, std::optional<std::int64_t>> newest_epochs;
  for (const store::RunSummary& summary : store.runs()) {
    if (summary.spec.oversubscribed) continue;
    const store::StoredRun run = store.load(summary.id);
    for (record::Measurement& row :
         analyze::measurements_of(run.started, run.epochs, run.ended, {.run = summary.id})) {
      if (row.notes.count("warm_up") != 0) continue;
      newest_epochs[row.model] = row.epochs;
      keep_configuration(row);
      rows.push_back(std::move(row));
    }
  }
  for (record::Measurement& row : rows) {
    if (row.metric != "total_time") row.epochs = newest_epochs[row.model];
  }
  if (rows.empty()) {
    throw Error(ErrorKind::kData, "no finished epoch in " + path + " to predict from",
                "train first (lockstep train fashion -n 1), or give a table with --from");
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
  if (source.table.empty()) return store_rows(source.store_path);
  return import::read_measurements_file(source.table).rows;
}

std::vector<predict::TableSeries> measured_series(const MeasuredSource& source) {
  std::vector<predict::TableSeries> all =
      predict::series_of(measured_rows(source), source.series_column);
  if (!source.series_column.empty()) return all;
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

}  // namespace lockstep::cli
