#include "lockstep/import/readers/tables/frame_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

enum class ColumnRole {
  kIgnored,
  kFact,     ///< of the run, as a configuration names it
  kWorkers,  ///< "gpu_nums", "gpus"
  kSetting,  ///< what only tells runs apart: learning rate, loader workers
  kFigure,
  kTotalTime,
  kUnclearTime,  ///< "time": of an epoch, of the run or of a part
  kAlong,        ///< epochs or steps: the frame is the course of one run
};

struct FrameColumn {
  ColumnRole role = ColumnRole::kIgnored;
  MetricName metric;
};

FrameColumn column_of(const std::string& name) {
  const std::string key = lower(name);
  const std::size_t slash = key.find_last_of("/.");
  const std::string last = slash == std::string::npos ? key : key.substr(slash + 1);
  if (last == "gpus" || last == "gpu_nums" || last == "num_gpu" || last == "workers")
    return {ColumnRole::kWorkers, {}};
  if (key == "time") return {ColumnRole::kUnclearTime, {}};
  ImportedRun scratch;
  if (offer_config(name, "8", scratch) || offer_config(name, "word", scratch))
    return {ColumnRole::kFact, {}};
  if (last == "lr" || last == "learning_rate" || last == "num_workers" ||
      last == "loader_workers" || last == "weight_decay" || last == "momentum" || last == "dropout")
    return {ColumnRole::kSetting, {}};
  if (last == "epoch" || last == "step" || last == "global_step" || last == "_step" ||
      last == "iteration")
    return {ColumnRole::kAlong, {}};
  if (contains_any<"speedup", "speed_up", "efficiency", "std", "min", "max", "best", "data", "comm",
                   "compute", "load", "first", "val_time", "test_time", "ratio", "diff">(key))
    return {};
  const MetricName metric = metric_of(name);
  if (metric.metric == Metric::kOther && contains(key, "total") && contains(key, "time"))
    return {ColumnRole::kTotalTime, {}};
  const bool figure = metric.metric != Metric::kOther && metric.metric != Metric::kEpoch &&
                      metric.metric != Metric::kStep && metric.metric != Metric::kLearningRate;
  return {figure ? ColumnRole::kFigure : ColumnRole::kIgnored, metric};
}

void add_frame_figure(const MetricName& metric, double value, ImportedRun& run) {
  switch (metric.metric) {
    case Metric::kEpochTime:
      if (value > 0) run.epoch_s = value * metric.scale;
      return;
    case Metric::kStepTime:
      if (value > 0) run.step_time.add(0, value * metric.scale);
      return;
    case Metric::kThroughput:
      if (value > 0) run.reported_throughput = value;
      return;
    case Metric::kThroughputPerWorker:
      if (value > 0) run.throughput_per_worker.add(0, value);
      return;
    case Metric::kTrainAccuracy:
    case Metric::kValAccuracy:
      if (value > 1) value /= 100;
      break;
    default:
      break;
  }
  record::EpochResult end = run.at_end.value_or(record::EpochResult{});
  if (set_quality(metric.metric, value, end)) run.at_end = end;
}

/// A column "time" says neither of what it is nor does it have to: histories in the same text may.
void add_unclear_time(const std::string& column, double seconds, const TableMeaning& meaning,
                      ImportedRun& run) {
  if (!(seconds > 0)) return;
  if (meaning.time_is_epoch) {
    run.epoch_s = seconds;
    run.notes["epoch_time"] =
        fmt::format("column {}: the histories in the file show that it is the time of epoch {}",
                    printable(column, 40), *meaning.time_is_epoch);
    return;
  }
  run.other[column].add(0, seconds);
  run.warnings.emplace_back(
      "the table does not state whether \"time\" is of an epoch or of the run; it is kept under "
      "that name and not compared");
}

void settle_batch_of_row(const TableMeaning& meaning, ImportedRun& run) {
  if (!run.batch_said || !run.workers) return;
  if (!meaning.batch_is_global) {
    run.batch_said_is_open = *run.workers > 1;
    run.notes["batch"] = fmt::format("batch size {}", *run.batch_said);
  } else if (*run.workers > 1) {
    run.global_batch.offer(*run.batch_said);
    run.notes["global_batch"] = "the histories in the file have as many steps on any worker count";
    run.batch_said.reset();
  }
}

ImportedRun run_of_row(const PrintedFrame& frame, std::size_t row,
                       const std::vector<FrameColumn>& columns, const TableMeaning& meaning) {
  ImportedRun run;
  std::string settings;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& text = frame.rows[row][i];
    const auto number = parse_number(text);
    switch (columns[i].role) {
      case ColumnRole::kFact:
        offer_config(frame.columns[i], text, run);
        break;
      case ColumnRole::kWorkers:
        if (number && *number >= 1 && *number < 1e6 && *number == std::floor(*number))
          run.workers.offer(static_cast<std::int64_t>(*number));
        break;
      case ColumnRole::kSetting:
        settings += fmt::format("{}{} {}", settings.empty() ? "" : ", ", frame.columns[i], text);
        break;
      case ColumnRole::kTotalTime:
        if (number && *number > 0) run.total_s = *number;
        break;
      case ColumnRole::kUnclearTime:
        if (number) add_unclear_time(frame.columns[i], *number, meaning, run);
        break;
      case ColumnRole::kFigure:
        if (number && std::isfinite(*number)) add_frame_figure(columns[i].metric, *number, run);
        break;
      default:
        break;
    }
  }
  settle_batch_of_row(meaning, run);
  if (!settings.empty()) run.notes["setting"] = printable(settings);
  return run;
}

/// The figures by which a run is known again.
std::set<double> figures_of(const ImportedRun& run) {
  std::set<double> figures;
  const auto keep = [&](double value) {
    if (std::isfinite(value) && value != 0) figures.insert(value);
  };
  const auto outcome = [&](const record::EpochResult& epoch) {
    for (const double value : {epoch.train_loss, epoch.train_accuracy, epoch.val_loss,
                               epoch.val_accuracy, epoch.train_s, epoch.examples_per_s})
      keep(value);
  };
  for (const record::EpochResult& epoch : run.epochs) outcome(epoch);
  if (run.at_end) outcome(*run.at_end);
  keep(run.epoch_s.value_or(0));
  keep(run.total_s.value_or(0));
  keep(run.reported_throughput.value_or(0));
  for (const auto& [name, series] : run.other) keep(series.last());
  return figures;
}

std::vector<FrameColumn> columns_of(const PrintedFrame& frame) {
  std::vector<FrameColumn> columns;
  for (const std::string& name : frame.columns) columns.push_back(column_of(name));
  return columns;
}

bool has_role(const std::vector<FrameColumn>& columns, ColumnRole role) {
  return std::any_of(columns.begin(), columns.end(),
                     [&](const FrameColumn& column) { return column.role == role; });
}

std::vector<ImportedRun> runs_of_frame(const PrintedFrame& frame, const TableMeaning& meaning) {
  const std::vector<FrameColumn> columns = columns_of(frame);
  const auto has = [&](ColumnRole role) { return has_role(columns, role); };
  const bool settings =
      has(ColumnRole::kFact) || has(ColumnRole::kWorkers) || has(ColumnRole::kSetting);
  const bool figures =
      has(ColumnRole::kFigure) || has(ColumnRole::kTotalTime) || has(ColumnRole::kUnclearTime);
  if (!settings || !figures || has(ColumnRole::kAlong)) return {};
  std::vector<ImportedRun> runs;
  for (std::size_t row = 0; row < frame.rows.size(); ++row) {
    ImportedRun run = run_of_row(frame, row, columns, meaning);
    if (run.has_figures()) runs.push_back(std::move(run));
  }
  return runs;
}

/// The times of all tables that do not say of what they are. One that two tables state differently
/// can explain nothing.
TableTimes unclear_times(const std::vector<PrintedFrame>& frames) {
  TableTimes times;
  std::set<std::pair<std::int64_t, std::int64_t>> differ;
  for (const PrintedFrame& frame : frames) {
    const std::vector<FrameColumn> columns = columns_of(frame);
    if (!has_role(columns, ColumnRole::kUnclearTime)) continue;
    for (const std::vector<std::string>& row : frame.rows) {
      ImportedRun run;
      std::int64_t workers = 0;
      double time = 0;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const double number = parse_number(row[i]).value_or(0);
        if (columns[i].role == ColumnRole::kFact) offer_config(frame.columns[i], row[i], run);
        if (columns[i].role == ColumnRole::kUnclearTime) time = number;
        if (columns[i].role == ColumnRole::kWorkers && number >= 1 && number < 1e6)
          workers = static_cast<std::int64_t>(number);
      }
      const std::pair key{workers, run.batch_said.value_or(0)};
      const auto [known, fresh] = times.emplace(key, time);
      if (!fresh && known->second != time) differ.insert(key);
    }
  }
  for (const auto& key : differ) times.erase(key);
  return times;
}

}  // namespace

std::vector<ImportedRun> runs_of_frames(const std::vector<PrintedFrame>& frames,
                                        const std::vector<PrintedHistory>& histories) {
  const TableMeaning meaning = meaning_of(unclear_times(frames), histories);
  std::vector<ImportedRun> all;
  std::set<std::string> known;
  for (const PrintedFrame& frame : frames) {
    for (ImportedRun& run : runs_of_frame(frame, meaning)) {
      // The same line in another frame, with or without a derived column, is the same run.
      std::string key =
          fmt::format("{}|{}|{}|{}|{}", run.workers.value.value_or(0), run.batch_said.value_or(0),
                      run.global_batch.value.value_or(0), run.model.value.value_or(""),
                      run.notes.contains("setting") ? run.notes["setting"] : "");
      for (const double figure : figures_of(run)) key += fmt::format("|{}", figure);
      if (known.insert(key).second) all.push_back(std::move(run));
    }
  }
  add_histories(histories, meaning, all);
  return all;
}

void leave_out_repeats(const std::vector<ImportedRun>& printed, std::vector<ImportedRun>& frames) {
  std::vector<std::set<double>> known;
  for (const ImportedRun& run : printed) known.push_back(figures_of(run));
  std::erase_if(frames, [&](const ImportedRun& run) {
    const std::set<double> figures = figures_of(run);
    return std::any_of(known.begin(), known.end(), [&](const std::set<double>& all) {
      return std::includes(all.begin(), all.end(), figures.begin(), figures.end());
    });
  });
}

}  // namespace lockstep::import
