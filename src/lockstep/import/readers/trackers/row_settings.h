#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// The columns of a table of epochs that state which run a row is of, and which part of it: workers
/// and batch, the network or the optimizer; the rank; "train" or "val".
struct RowSettings {
  static constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

  std::vector<std::size_t> keys;
  std::size_t rank = kNoColumn;
  std::size_t split = kNoColumn;

  bool any() const { return !keys.empty() || rank != kNoColumn || split != kNoColumn; }
  /// The values of the keys: rows of one run have the same.
  std::string key(const std::vector<std::string_view>& fields) const;
  /// Hands the facts of a row to its run; what is none of Lockstep's becomes the note "setting".
  void offer(const std::vector<std::string>& header, const std::vector<std::string>& fields,
             ImportedRun& run) const;
};

/// By the names and the first rows, which `sample` begins with. Texts that change from row to row
/// (dates, paths) state no run.
RowSettings find_row_settings(std::string_view sample, char delimiter,
                              const std::vector<std::string>& header);

/// Settings of training that a table repeats in every row: a learning rate that never changes, the
/// weight decay. Two tables that differ in them are of different experiments.
class SteadySettings {
 public:
  explicit SteadySettings(const std::vector<std::string>& header);
  void row(const std::vector<double>& values);
  /// Adds "learning_rate 0.1" to the note "setting".
  void offer(const std::vector<std::string>& header, ImportedRun& run) const;

 private:
  struct Column {
    std::size_t place = 0;
    double value = 0;
    std::size_t rows = 0;
    bool changes = false;
  };
  std::vector<Column> columns_;
};

enum class RowSplit { kTrain, kValidation, kTest, kUnknown };
RowSplit split_of_row(std::string_view field);

}  // namespace lockstep::import
