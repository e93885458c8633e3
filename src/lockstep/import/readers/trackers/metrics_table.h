#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/readers/trackers/row_settings.h"

namespace lockstep::import {

/// The first column of this metric, or RowSettings::kNoColumn.
std::size_t column_of(const std::vector<std::string>& header, Metric metric);

/// One run of a table with a column for epochs or steps and one per metric. Rows come by step: the
/// figures of a step are spread over several rows, and the row with the learning rate comes before
/// the one with the epoch's number.
class MetricsTable {
 public:
  explicit MetricsTable(std::vector<std::string> header);

  /// The columns of the settings are no figures.
  void leave_out(std::size_t column) { left_out_.insert(column); }

  /// Whether `values` begin another run: its first epoch again, after later ones. A test at the end
  /// may number its only row from the beginning.
  bool restarts(const std::vector<double>& values) const;

  /// `values` are NaN where a field is empty.
  void row(const std::vector<double>& values, RowSplit split = RowSplit::kUnknown);

  std::int64_t rows() const { return rows_; }

  ImportedRun finish();

 private:
  /// Epochs that come back after later ones are of one run that was continued, or of several that
  /// wrote into one table: which row counts is unknown. Of mixed rows none is certain.
  void leave_out_mixed();

  /// A clock that runs through rises by about its first value per epoch; its differences are the
  /// times of the epochs and its last value is the whole run. One that falls counts per epoch.
  void read_clock();

  std::vector<std::string> header_;
  std::vector<EpochMeans::Column> columns_;
  std::vector<EpochMeans::Column> validation_;  ///< of rows that state their split
  std::vector<EpochMeans::Column> test_;
  std::set<std::size_t> left_out_;
  std::size_t epoch_column_;
  std::size_t step_column_;
  std::size_t clock_column_;
  std::vector<std::pair<double, double>> clock_;  ///< epoch and what the clock showed
  EpochMeans means_;
  ImportedRun run_;
  std::optional<double> epoch_;
  std::optional<double> first_epoch_;
  std::int64_t falls_ = 0;  ///< rows whose epoch is before that of the row above
  std::set<double> seen_;
  std::set<double> mixed_;
  bool zero_based_ = false;
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
  std::pair<std::size_t, double> pending_rate_{RowSettings::kNoColumn, 0};
};

}  // namespace lockstep::import
