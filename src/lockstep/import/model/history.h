#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/scan/json_line.h"

namespace lockstep::import {

/// Puts the rows of a history together into a run: each row has figures by name, and may have a
/// step, an epoch, seconds since the start ("_runtime") and the time of day ("_timestamp").
class History {
 public:
  void row(const std::vector<JsonLineField>& fields);
  /// Whether a worker count or batch size of the row differs from that of the rows before: it is of
  /// another run.
  bool is_of_another_run(const std::vector<JsonLineField>& fields) const;
  std::int64_t rows() const { return rows_; }
  /// For facts found elsewhere.
  ImportedRun& run() { return run_; }
  ImportedRun finish();

 private:
  /// What a field of a history is for. The later of two steps counts: a script's own ("iter")
  /// before the number that the tool gives to each row ("_step").
  enum class Role { kRowNumber, kStep, kEpoch, kRuntime, kTimestamp, kAxis, kFigure };
  static Role role_of(std::string_view name);
  static bool sizes_a_run(std::string_view name);

  struct Known {
    std::string outer;
    std::string name;
    Role role = Role::kFigure;
    EpochMeans::Column column;
  };
  Known& known(const JsonLineField& field, std::size_t place);
  bool is_validation(const std::vector<JsonLineField>& fields) const;
  void validation_row(const std::vector<JsonLineField>& fields);
  void step_time(const std::vector<JsonLineField>& fields);
  void row_time(const std::vector<JsonLineField>& fields, std::int64_t step);
  static bool is_media(const JsonLineField& field, const std::vector<JsonLineField>& fields);
  void stamp(double seconds);
  void epoch_end(double epoch, double runtime);
  /// EpochTable numbers from 1 where the log began with 0.
  std::int64_t shift() const { return !ends_.empty() && ends_.begin()->first == 0 ? 1 : 0; }

  static constexpr std::size_t kMostNames = 4096;

  ImportedRun run_;
  EpochMeans means_;
  std::map<std::string, Known> known_;  ///< by path
  std::vector<Known*> places_;          ///< what stood at each place of the last rows
  std::vector<Known*> row_;             ///< the fields of this row; texts have none
  std::map<std::string, std::string, std::less<>> sizes_;  ///< what rows state about the run
  std::map<std::int64_t, double> ends_;
  std::optional<double> runtime_;
  std::optional<double> epoch_;
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
  bool timed_ = false;      ///< rows have "data_time"
  bool row_timed_ = false;  ///< rows have a time that may be of their step
  Series row_times_;
  std::int64_t last_timed_ = 0;
  bool one_by_one_ = true;  ///< no step between two of them
  bool fell_ = false;       ///< they do not rise all the way, as a clock does
};

}  // namespace lockstep::import
