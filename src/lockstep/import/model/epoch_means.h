#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// Turns figures that come step by step, each with an epoch or without, into the figures of epochs:
/// a training loss or accuracy is the mean of what was logged in the epoch, anything else the last.
/// For tables and histories, where a "test" figure is a final test and no validation, unless it
/// comes epoch after epoch.
class EpochMeans {
 public:
  /// A figure's name, read once for all of its values.
  struct Column {
    std::string name;
    MetricName metric;
    bool of_epoch = false;    ///< already the epoch's own, not one of many within it
    Series* other = nullptr;  ///< of the run, once there is one
  };
  static Column column(std::string_view name);

  /// One figure; `epoch` as the log numbers it. A column is of one run alone.
  void add(Column& column, double value, std::optional<double> epoch, std::int64_t step,
           ImportedRun& run);
  void add(std::string_view name, double value, std::optional<double> epoch, std::int64_t step,
           ImportedRun& run);

  /// Hands the epochs to `run`. A last epoch that only validated, after others that trained, is a
  /// validation on its own: its figures become those at the end of the run, as do the last ones of
  /// a log that numbers no epochs.
  void finish(ImportedRun& run);

  /// Epochs are fractions that grow with the step, as Hugging Face counts them: 1.8 lies in the
  /// second.
  void count_fractions() { fractions_ = true; }

 private:
  void close_epoch();
  void settle_first(std::int64_t epoch);
  void test_figure(const MetricName& metric, double value, double epoch);

  std::map<std::string, Column, std::less<>> columns_;
  EpochTable table_;
  EpochTable without_epochs_;  ///< one row: the last validation of a log that numbers no epochs
  Series loss_;
  Series accuracy_;
  std::int64_t epoch_ = -1;
  std::vector<std::pair<MetricName, double>> first_test_;
  std::int64_t first_test_epoch_ = -1;
  bool tests_validate_ = false;
  bool fractions_ = false;
  bool closed_ = false;                               ///< an epoch ended
  std::vector<std::pair<MetricName, double>> first_;  ///< of epoch 0, before the next one
  bool loss_is_mean_ = false;
  bool accuracy_is_mean_ = false;
};

}  // namespace lockstep::import
