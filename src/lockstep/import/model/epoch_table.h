#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "lockstep/import/model/metric_names.h"
#include "lockstep/record/event.h"

namespace lockstep::import {

/// Collects figures by epoch, in any order and however often a log prints them, and turns them
/// into EpochResults numbered from 1.
class EpochTable {
 public:
  /// Larger numbers are taken as damage.
  static constexpr std::int64_t kMostEpochs = 1'000'000;
  /// So many epochs are kept, the first that come, which bounds the memory to some 50 MB.
  static constexpr std::size_t kMostRows = 200'000;

  /// A figure of an epoch, numbered as the log does. A later value replaces an earlier one of the
  /// same or a lesser choice (MetricName::rank). Figures that are no per-epoch ones are ignored.
  void set(std::int64_t epoch, const MetricName& name, double value);
  void set(std::int64_t epoch, Metric metric, double value) {
    set(epoch, MetricName{metric}, value);
  }
  /// As `set`, for a value that stood with a percent sign.
  void set_percent(std::int64_t epoch, const MetricName& name, double value);
  void set_examples(std::int64_t epoch, std::int64_t examples);
  void set_validation_time(std::int64_t epoch, double seconds);

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  /// Largest epoch seen, as the log numbers it; 0 when empty.
  std::int64_t last() const { return rows_.empty() ? 0 : rows_.rbegin()->first; }

  /// Epochs counted from 0 are shifted to 1. Accuracies are fractions: where any stood above 1
  /// without a percent sign, all of that column are percent.
  std::vector<record::EpochResult> results() const;

 private:
  static constexpr std::size_t kColumns = 5;
  struct Cell {
    double value = record::kUnknown;
    int rank = 1000;
    bool percent = false;
  };
  struct Row {
    std::array<Cell, kColumns> cells;
    double train_s = 0;
    double val_s = 0;
    double throughput = 0;
    std::int64_t examples = 0;
  };

  Row* row(std::int64_t epoch);

  std::map<std::int64_t, Row> rows_;
};

}  // namespace lockstep::import
