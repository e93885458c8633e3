#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/prior_fit.h"
#include "lockstep/predict/scaling_series.h"
#include "lockstep/record/measurement.h"

namespace lockstep::predict {

/// One configuration of a measurements table: the rows that differ only in the number of workers.
struct TableSeries {
  std::string name;
  Metric metric = Metric::kThroughput;
  Scaling scaling = Scaling::kWeak;
  std::string unit;
  std::string model;
  std::string device;
  ScalingSeries series;
  std::optional<std::int64_t> batch_per_worker;
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> examples;
  std::optional<std::int64_t> epochs;
  std::string source;  ///< the table's `source` column, for grouping
};

/// Groups rows into series. With `series_column` (a column beyond the known ones) the rows of one
/// value of it and one metric form a series; without, those that agree in all but workers, nodes
/// and value. Rows without workers or whose metric does not scale are left out. In order of first
/// appearance. Throws kData when the column is absent or nothing is left.
std::vector<TableSeries> series_of(const std::vector<record::Measurement>& rows,
                                   const std::string& series_column = "");

/// The series to learn from or to backtest on; grouped by source, first word of the model, device.
std::vector<LearningSeries> learning_series(const std::vector<TableSeries>& table);

}  // namespace lockstep::predict
