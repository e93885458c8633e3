#include "lockstep/import/readers/tables/table_epochs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/readers/tables/table_cells.h"

namespace lockstep::import {
namespace {

using EpochTimes = std::vector<std::pair<std::int64_t, double>>;

/// Times that rise by about the first from epoch to epoch are those of a clock.
bool are_of_a_clock(const EpochTimes& times) {
  if (times.size() < 3) return false;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i].second <= times[i - 1].second) return false;
  }
  return times.back().second > 0.6 * static_cast<double>(times.size()) * times.front().second;
}

bool is_metric(const TableColumn& column, Metric metric) {
  return column.role == TableRole::kMetric && column.metric.metric == metric;
}

std::optional<std::int64_t> epoch_of_row(const TextTable::Row& row, const TableColumns& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != TableRole::kEpoch) continue;
    const auto number = cell_number(row.cells[i]);
    if (!number || !(number->value >= 0 && number->value <= 1e6) ||
        number->value != std::floor(number->value))
      return std::nullopt;
    return static_cast<std::int64_t>(number->value);
  }
  return std::nullopt;
}

/// Whose an accuracy is that does not state it. fastai's metrics beside train_loss and valid_loss
/// are of the validation; elsewhere, with figures of both, they may be of either.
enum class PlainAccuracy { kTraining, kValidation, kEither };

PlainAccuracy plain_accuracy(const TextTable& table, const TableColumns& columns) {
  const bool validated = std::any_of(columns.begin(), columns.end(), [](const auto& column) {
    return is_metric(column, Metric::kValLoss);
  });
  if (!validated) return PlainAccuracy::kTraining;
  const bool fastai = table.columns.size() > 3 && table.columns[1] == "train_loss" &&
                      table.columns[2] == "valid_loss";
  return fastai ? PlainAccuracy::kValidation : PlainAccuracy::kEither;
}

void add_epoch_cell(std::int64_t epoch, const CellNumber& number, const TableColumn& column,
                    PlainAccuracy plain, EpochTable& epochs, ImportedRun& run) {
  MetricName metric = column.metric;
  if (metric.metric == Metric::kTrainAccuracy && metric.rank >= 2) {
    if (plain == PlainAccuracy::kEither) {
      run.other[column.name].add(epoch, number.value);
      return;
    }
    if (plain == PlainAccuracy::kValidation) metric = {Metric::kValAccuracy, 0};
  }
  if (column.percent || number.unit == "%") {
    epochs.set_percent(epoch, metric, number.value);
  } else {
    epochs.set(epoch, metric, number.value);
  }
}

void add_epoch_times(EpochTimes& times, EpochTable& epochs, ImportedRun& run) {
  if (are_of_a_clock(times)) {
    run.notes["epoch_time"] = "difference of two values of a running clock";
    run.warnings.emplace_back(
        "the epoch times increase like a running clock; their differences are used");
    for (std::size_t i = times.size() - 1; i > 0; --i) times[i].second -= times[i - 1].second;
  }
  for (const auto& [epoch, seconds] : times) epochs.set(epoch, Metric::kEpochTime, seconds);
}

}  // namespace

std::optional<ImportedRun> run_of_epochs(const TextTable& table, const TableColumns& columns) {
  ImportedRun run;
  EpochTable epochs;
  EpochTimes times;
  std::set<std::int64_t> seen;
  const PlainAccuracy plain = plain_accuracy(table, columns);
  for (const TextTable::Row& row : table.rows) {
    const auto epoch = epoch_of_row(row, columns);
    if (!epoch || !seen.insert(*epoch).second) return std::nullopt;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto number = cell_number(row.cells[i]);
      if (!number || !std::isfinite(number->value)) continue;
      if (columns[i].role == TableRole::kUnclearTime || is_metric(columns[i], Metric::kEpochTime)) {
        if (const auto seconds = seconds_of_cell(*number, columns[i]); seconds && *seconds > 0)
          times.emplace_back(*epoch, *seconds);
      } else if (columns[i].role == TableRole::kMetric) {
        add_epoch_cell(*epoch, *number, columns[i], plain, epochs, run);
      }
    }
  }
  add_epoch_times(times, epochs, run);
  run.epochs = epochs.results();
  return run.epochs.empty() ? std::nullopt : std::optional(std::move(run));
}

}  // namespace lockstep::import
