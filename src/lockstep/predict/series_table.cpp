#include "lockstep/predict/series_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/predict/host_boundary.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::predict {
namespace {

using record::Measurement;

std::string number_or_empty(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

/// What two rows share when only their number of workers differs.
std::string key_of(const Measurement& row, const std::string& series_column) {
  if (!series_column.empty()) return record::column_text(row, series_column) + '\x1f' + row.metric;
  std::string key = row.model + '\x1f' + row.dataset + '\x1f' + row.device + '\x1f' + row.metric +
                    '\x1f' + row.unit + '\x1f' + number_or_empty(row.epochs) + '\x1f';
  // The batch that stays fixed: per worker where it is given, else global.
  key += row.batch_per_worker ? "b" + record::batch_text(*row.batch_per_worker)
                              : "B" + number_or_empty(row.global_batch);
  key += '\x1f' + row.source + '\x1f' + row.series;
  for (const auto& [name, text] : record::settings_of(row)) key += '\x1f' + name + '=' + text;
  return key;
}

std::string name_of(const Measurement& row, const std::string& series_column) {
  if (!series_column.empty()) return record::column_text(row, series_column);
  std::string name;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) name += (name.empty() ? "" : ", ") + text;
  };
  add(row.model);
  add(row.dataset);
  add(row.device);
  if (row.batch_per_worker) {
    add("b " + record::batch_text(*row.batch_per_worker));
  } else if (row.global_batch) {
    add("B " + std::to_string(*row.global_batch));
  }
  add(row.source);
  for (const auto& [column, text] : record::settings_of(row)) {
    const bool threads = column == "threads_per_worker";
    add(threads ? text + (text == "1" ? " thread" : " threads") : text);
  }
  return name.empty() ? "all rows" : name;
}

/// Says what stays fixed: a `scaling` column, else whichever batch does not change with workers.
Scaling scaling_of(const std::vector<const Measurement*>& rows) {
  if (const auto stated = rows.front()->scaling; stated && *stated != Scaling::kMixed) {
    return *stated;
  }
  std::set<double> per_worker;
  std::set<std::int64_t> global;
  for (const Measurement* row : rows) {
    if (row->batch_per_worker) per_worker.insert(*row->batch_per_worker);
    if (row->global_batch) global.insert(*row->global_batch);
  }
  const bool fixed_global = global.size() == 1 && per_worker.size() != 1;
  return fixed_global ? Scaling::kStrong : Scaling::kWeak;
}

bool scaling_told(const std::vector<const Measurement*>& rows) {
  return rows.front()->scaling.has_value() ||
         std::any_of(rows.begin(), rows.end(), [](const Measurement* row) {
           return row->batch_per_worker || row->global_batch;
         });
}

/// Relative error (standard deviation) that the rounding of the values leaves at the last count.
/// The step of the rounding is the finest decimal place that any value uses.
double rounding_error(const std::vector<const Measurement*>& rows) {
  constexpr int kMostDecimals = 6;
  int decimals = 0;
  const Measurement* last = rows.front();
  for (const Measurement* row : rows) {
    if (!std::isfinite(row->value) || std::fabs(row->value) > 1e9) return 0;
    if (*row->workers > *last->workers) last = row;
    const auto fits = [&](int places) {
      const double scaled = row->value * std::pow(10.0, places);
      return std::fabs(scaled - std::round(scaled)) <= 1e-7 * std::max(1.0, std::fabs(scaled));
    };
    while (decimals < kMostDecimals && !fits(decimals)) ++decimals;
  }
  const double step = std::pow(10.0, -decimals);
  const double error = last->value > 0 ? step / std::sqrt(12.0) / last->value : 0;
  // Less than the noise of any measurement; and whole numbers below ten may be exact.
  return error > 0.005 && error < 0.2 ? error : 0;
}

TableSeries make_table_series(const std::vector<const Measurement*>& rows,
                              const std::string& series_column) {
  const Measurement& first = *rows.front();
  TableSeries table;
  table.name = name_of(first, series_column);
  table.metric = *metric_from_name(first.metric);
  table.scaling = scaling_of(rows);
  table.scaling_assumed = !scaling_told(rows);
  table.unit = first.unit;
  table.model = first.model;
  table.device = first.device;
  table.batch_per_worker = first.batch_per_worker;
  table.global_batch = first.global_batch;
  table.examples = first.examples;
  table.epochs = first.epochs;
  table.source = first.source;
  table.settings = record::settings_of(first);
  std::vector<ScalingPoint> points;
  for (const Measurement* row : rows) {
    const auto workers = static_cast<double>(*row->workers);
    points.push_back({workers, rate_of(table.metric, table.scaling, workers, row->value),
                      static_cast<int>(row->nodes.value_or(0))});
  }
  table.series = make_series(table.name, points, devices_per_host(table.device));
  table.series.scaling = table.scaling;
  table.series.rounding = rounding_error(rows);
  return table;
}

int directness(Metric metric) {
  switch (metric) {
    case Metric::kThroughput:
      return 3;
    case Metric::kEpochTime:
      return 2;
    case Metric::kStepTime:
      return 1;
    case Metric::kTotalTime:
      return 0;
  }
  return 0;
}

/// More direct first; of the same metric more counts, then longer runs.
bool says_more(const TableSeries& a, const TableSeries& b) {
  if (a.metric != b.metric) return directness(a.metric) > directness(b.metric);
  if (a.series.points.size() != b.series.points.size()) {
    return a.series.points.size() > b.series.points.size();
  }
  return a.epochs.value_or(0) > b.epochs.value_or(0);
}

std::vector<WholeRun> whole_runs_of(const TableSeries& best,
                                    const std::vector<const TableSeries*>& same) {
  std::vector<WholeRun> runs;
  for (const TableSeries* one : same) {
    if (one->metric != Metric::kTotalTime || !one->epochs) continue;
    for (const ScalingPoint& point : one->series.points) {
      WholeRun run{point.workers, *one->epochs, 1 / point.rate};
      for (const ScalingPoint& rate : best.series.points) {
        if (best.metric == Metric::kTotalTime || rate.workers != point.workers) continue;
        run.epoch_s = epoch_seconds(best, rate.workers, rate.rate, best.examples);
      }
      runs.push_back(run);
    }
  }
  return runs;
}

using PhasesByCount = std::map<double, std::map<std::string, std::vector<double>>>;

std::vector<MeasuredPhases> phases_of(const PhasesByCount& measured) {
  std::vector<MeasuredPhases> result;
  for (const auto& [workers, metrics] : measured) {
    const auto mean = [&](const char* metric) {
      const auto found = metrics.find(metric);
      return found == metrics.end() ? 0.0 : median(found->second);
    };
    if (metrics.count("compute_time") == 0) continue;
    result.push_back({workers, mean("compute_time"), mean("input_wait_time"), mean("sync_time"),
                      mean("other_time")});
  }
  return result;
}

bool is_phase(const std::string& metric) {
  static const std::set<std::string> phases{"compute_time", "input_wait_time", "sync_time",
                                            "other_time"};
  return phases.count(metric) != 0;
}

}  // namespace

std::optional<double> fixed_batch(const TableSeries& table) {
  if (table.scaling == Scaling::kWeak) return table.batch_per_worker;
  if (!table.global_batch) return std::nullopt;
  return static_cast<double>(*table.global_batch);
}

std::optional<double> epoch_seconds(const TableSeries& table, double workers, double rate,
                                    const std::optional<std::int64_t>& examples) {
  const double value = value_of(table.metric, table.scaling, workers, rate);
  const auto count = static_cast<double>(examples.value_or(0));
  switch (table.metric) {
    case Metric::kEpochTime:
      return value;
    case Metric::kThroughput:
      return examples ? std::optional(count / value) : std::nullopt;
    case Metric::kStepTime: {
      const bool strong = table.scaling == Scaling::kStrong;
      const std::optional<double> batch = fixed_batch(table);
      if (!batch || !examples) return std::nullopt;
      return value * count / (*batch * (strong ? 1 : workers));
    }
    case Metric::kTotalTime:
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<TableSeries> most_direct(std::vector<TableSeries> all) {
  std::map<std::string, std::vector<const TableSeries*>> by_name;
  for (const TableSeries& one : all) by_name[one.name].push_back(&one);
  std::vector<TableSeries> result;
  std::set<std::string> taken;
  for (const TableSeries& one : all) {
    if (!taken.insert(one.name).second) continue;
    const auto& same = by_name[one.name];
    const TableSeries* best = *std::min_element(
        same.begin(), same.end(),
        [](const TableSeries* a, const TableSeries* b) { return says_more(*a, *b); });
    result.push_back(*best);
    result.back().whole_runs = whole_runs_of(*best, same);
  }
  return result;
}

std::vector<TableSeries> series_of(const std::vector<Measurement>& rows,
                                   const std::string& series_column) {
  std::vector<std::vector<const Measurement*>> groups;
  std::map<std::string, std::size_t> place;
  std::map<std::string, PhasesByCount> phases;
  for (const Measurement& row : rows) {
    if (row.workers && is_phase(row.metric) && std::isfinite(row.value)) {
      phases[name_of(row, series_column)][static_cast<double>(*row.workers)][row.metric].push_back(
          row.value);
    }
    if (!row.workers || !metric_from_name(row.metric)) continue;
    if (!series_column.empty() && record::column_text(row, series_column).empty()) {
      throw Error(ErrorKind::kData, fmt::format("the table has no column '{}'", series_column),
                  "name a column of the table after --series-column, or leave it out");
    }
    const auto [found, added] = place.emplace(key_of(row, series_column), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(&row);
  }
  if (groups.empty()) {
    throw Error(ErrorKind::kData,
                "the table has no throughput, step_time, epoch_time or total_time at a known "
                "number of workers",
                "fill the columns workers, metric and value");
  }
  std::vector<TableSeries> result;
  for (const auto& group : groups) {
    result.push_back(make_table_series(group, series_column));
    const auto found = phases.find(result.back().name);
    if (found != phases.end()) result.back().phases = phases_of(found->second);
  }
  return result;
}

std::vector<LearningSeries> learning_series(const std::vector<TableSeries>& table) {
  std::vector<LearningSeries> result;
  for (const TableSeries& one : table) {
    const std::string family = one.model.substr(0, one.model.find(' '));
    result.push_back({one.series, one.source + '\x1f' + family + '\x1f' + one.device, one.source});
  }
  return result;
}

}  // namespace lockstep::predict
