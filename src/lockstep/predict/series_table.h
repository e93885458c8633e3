#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/analyze/series.h"
#include "lockstep/predict/duration/epoch_totals.h"
#include "lockstep/predict/scaling/prior_fit.h"
#include "lockstep/predict/scaling/scaling_series.h"
#include "lockstep/record/measurement.h"

namespace lockstep::predict {

/// Where the time of a step went on one worker count, in seconds.
struct MeasuredPhases {
  double workers = 0;
  double compute_s = 0;
  double input_wait_s = 0;
  double exposed_s = 0;
  double other_s = 0;
};

/// One configuration of a measurements table: the rows that differ only in the number of workers.
struct TableSeries {
  analyze::SeriesKey key;  ///< the series that speedups and verdicts call by it too
  std::string name;
  Metric metric = Metric::kThroughput;
  Scaling scaling = Scaling::kWeak;
  bool scaling_assumed = false;  ///< neither a batch nor a `scaling` column determines it
  std::string unit;
  std::string model;
  std::string device;
  ScalingSeries series;
  std::optional<double> batch_per_worker;
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> examples;
  std::optional<std::int64_t> epochs;
  /// No run had this batch: the values at measured counts are derived from other batches.
  bool derived = false;
  std::string source;                  ///< the table's `source` column, for grouping
  std::vector<WholeRun> whole_runs;    ///< see most_direct()
  std::vector<MeasuredPhases> phases;  ///< ascending counts; empty where none were measured
  /// What whole runs take beyond their epochs recurs with each (validation), not once (start-up).
  /// Taken so for runs that state a strategy, as lockstep's own do.
  bool overhead_grows = false;
};

/// B with strong scaling, b with weak scaling; nothing when the table does not give it.
std::optional<double> fixed_batch(const TableSeries& table);
/// B on so many workers; nothing when the table gives no batch.
std::optional<double> global_batch(const TableSeries& table, double workers);

/// Seconds of one pass over the data at a rate of the series; nothing when the table does not say
/// how many examples that is.
std::optional<double> epoch_seconds(const TableSeries& table, double workers, double rate,
                                    const std::optional<std::int64_t>& examples);

/// Groups rows into series. With `series_column` the rows of one value of it and one metric form a
/// series; without, those of one analyze::SeriesKey, source and metric (total times also of as many
/// epochs). Rows without workers, whose metric does not scale, of a warm-up or marked unreliable
/// are left out. In order of first appearance. Throws kData when the column is absent or nothing is
/// left.
std::vector<TableSeries> series_of(const std::vector<record::Measurement>& rows,
                                   const std::string& series_column = "");

/// One series per key: of several metrics the one that gives the speed most directly (throughput,
/// epoch time, step time, total time) and the time of an epoch, where one does. The total times are
/// kept as its whole runs.
std::vector<TableSeries> most_direct(const std::vector<TableSeries>& all);

/// Where rows come from; an error names what to do there.
enum class RowsFrom { kStore, kTable };

/// The series to predict from: most_direct() of series_of(), or with a series column all of them.
/// Throws kData as series_of() does, or when no run has a time and a worker count.
std::vector<TableSeries> job_series(const std::vector<record::Measurement>& rows, RowsFrom from,
                                    const std::string& series_column = "");

/// As above; empty where that throws kData.
std::vector<TableSeries> job_series_if_any(const std::vector<record::Measurement>& rows,
                                           RowsFrom from);

/// The series to learn from or to backtest on; grouped by source, first word of the model, device.
std::vector<LearningSeries> learning_series(const std::vector<TableSeries>& table);

}  // namespace lockstep::predict
