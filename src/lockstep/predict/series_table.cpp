#include "lockstep/predict/series_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/predict/scaling/host_boundary.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::predict {
namespace {

using record::Measurement;

std::string number_or_empty(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

/// What the rows of one series share.
struct Group {
  analyze::SeriesKey key;
  std::string name;
  std::vector<const Measurement*> rows;
};

std::string name_of(const Measurement& row, const analyze::SeriesKey& key) {
  std::string name;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) name += (name.empty() ? "" : ", ") + text;
  };
  add(key.model);
  add(key.dataset);
  add(key.device);
  if (key.batch) {
    const bool unstated = key.scaling == Scaling::kUnstated;
    add((unstated                        ? "batch "
         : key.scaling == Scaling::kWeak ? "b "
                                         : "B ") +
        record::batch_text(*key.batch));
  }
  add(row.source);
  for (const auto& [column, text] : key.settings) {
    const bool threads = column == "threads_per_worker";
    add(threads ? text + (text == "1" ? " thread" : " threads") : text);
  }
  return name.empty() ? "all rows" : name;
}

/// Assigns rows to series: by a column, or by what analyze calls a series.
class SeriesFinder {
 public:
  SeriesFinder(const std::vector<Measurement>& rows, std::string column)
      : column_(std::move(column)),
        distinguishing_(analyze::distinguishing_settings(rows)),
        rule_(analyze::configurations(rows)) {}

  analyze::SeriesKey key(const Measurement& row) const {
    return rule_.key(analyze::configuration_of(row, distinguishing_));
  }

  std::string name(const Measurement& row) const {
    return column_.empty() ? name_of(row, key(row)) : record::column_text(row, column_);
  }

  /// Rows with the same text belong to one series.
  std::string identity(const Measurement& row) const {
    const std::string epochs = row.metric == "total_time" ? number_or_empty(row.epochs) : "";
    return name(row) + '\x1f' + row.metric + '\x1f' + row.unit + '\x1f' +
           (column_.empty() ? epochs + '\x1f' + row.series : "");
  }

 private:
  std::string column_;
  std::set<std::string> distinguishing_;
  analyze::ScalingRule rule_;
};

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

/// Per worker; 0 where it is neither given nor follows from the global batch.
double batch_of(const Measurement& row) {
  if (row.batch_per_worker) return *row.batch_per_worker;
  if (!row.global_batch || *row.workers < 1) return 0;
  return static_cast<double>(*row.global_batch) / static_cast<double>(*row.workers);
}

TableSeries make_table_series(const Group& group) {
  const std::vector<const Measurement*>& rows = group.rows;
  const Measurement& first = *rows.front();
  TableSeries table;
  table.key = group.key;
  table.name = group.name;
  table.metric = *metric_from_name(first.metric);
  const bool stated = group.key.scaling != Scaling::kUnstated;
  table.scaling = stated ? group.key.scaling : Scaling::kWeak;
  table.scaling_assumed = !stated;
  table.unit = first.unit;
  table.model = first.model;
  table.device = first.device;
  table.batch_per_worker = first.batch_per_worker;
  table.global_batch = first.global_batch;
  if (group.key.batch && stated && table.scaling == Scaling::kWeak) {
    table.batch_per_worker = group.key.batch;
  }
  if (group.key.batch && table.scaling == Scaling::kStrong) {
    table.global_batch = std::llround(*group.key.batch);
  }
  table.examples = first.examples;
  // The newest run: epochs take as long in runs of other lengths.
  table.epochs = rows.back()->epochs;
  table.source = first.source;
  table.overhead_grows = std::all_of(rows.begin(), rows.end(),
                                     [](const Measurement* row) { return !row->strategy.empty(); });
  if (table.scaling == Scaling::kMixed || !stated) {
    table.batch_per_worker.reset();
    table.global_batch.reset();
  }
  const bool batches = std::all_of(rows.begin(), rows.end(),
                                   [](const Measurement* row) { return batch_of(*row) > 0; });
  std::vector<ScalingPoint> points;
  for (const Measurement* row : rows) {
    const auto workers = static_cast<double>(*row->workers);
    const double batch = batches ? batch_of(*row) : 0;
    points.push_back(
        {workers, rate_of(table.metric, table.scaling, workers, row->value, batches ? batch : 1),
         static_cast<int>(row->nodes.value_or(0)), batch});
  }
  table.series = make_series(table.name, points, devices_per_host(table.device));
  table.series.scaling = table.scaling;
  table.series.whole_time = table.metric == Metric::kTotalTime ||
                            (table.metric == Metric::kEpochTime && table.scaling_assumed);
  table.series.same_work = std::all_of(rows.begin(), rows.end(), [&](const Measurement* row) {
    return row->epochs && row->epochs == first.epochs;
  });
  table.series.rounding = rounding_error(rows);
  return table;
}

int directness(Metric metric) {
  switch (metric) {
    case Metric::kThroughput:
      return 4;
    case Metric::kEpochTime:
      return 3;
    case Metric::kStepTime:
      return 2;
    case Metric::kOtherRate:
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

/// The one that gives the speed most directly. A rate of unknown examples determines no time of a
/// job: epoch times at as many counts are then used instead.
const TableSeries* best_of(const std::vector<const TableSeries*>& same) {
  const auto more = [](const TableSeries* a, const TableSeries* b) { return says_more(*a, *b); };
  const TableSeries* best = *std::min_element(same.begin(), same.end(), more);
  if (best->metric == Metric::kTotalTime || best->series.points.empty()) return best;
  const ScalingPoint& first = best->series.points.front();
  if (epoch_seconds(*best, first.workers, first.rate, best->examples)) return best;
  const std::size_t counts = best->series.points.size();
  for (const TableSeries* one : same) {
    if (one->metric == Metric::kEpochTime && one->series.points.size() >= counts) return one;
  }
  return best;
}

std::vector<WholeRun> whole_runs_of(const TableSeries& best,
                                    const std::vector<const TableSeries*>& same) {
  std::vector<WholeRun> runs;
  for (const TableSeries* one : same) {
    if (one->metric != Metric::kTotalTime || !one->epochs) continue;
    for (const ScalingPoint& point : one->series.points) {
      WholeRun run{point.workers, *one->epochs, 1 / point.rate, {}, one->series.repeat_spread};
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
    const auto mean = [&metrics = metrics](const char* metric) {
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
  if (table.scaling == Scaling::kMixed) return std::nullopt;
  if (table.scaling == Scaling::kWeak) return table.batch_per_worker;
  if (!table.global_batch) return std::nullopt;
  return static_cast<double>(*table.global_batch);
}

std::optional<double> global_batch(const TableSeries& table, double workers) {
  const std::optional<double> fixed = fixed_batch(table);
  if (!fixed) return std::nullopt;
  return table.scaling == Scaling::kWeak ? *fixed * workers : *fixed;
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
    case Metric::kOtherRate:
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<TableSeries> most_direct(const std::vector<TableSeries>& all) {
  std::map<std::string, std::vector<const TableSeries*>> by_name;
  for (const TableSeries& one : all) by_name[one.name].push_back(&one);
  std::vector<TableSeries> result;
  std::set<std::string> taken;
  for (const TableSeries& one : all) {
    if (!taken.insert(one.name).second) continue;
    const auto& same = by_name[one.name];
    const TableSeries* best = best_of(same);
    result.push_back(*best);
    result.back().whole_runs = whole_runs_of(*best, same);
  }
  return result;
}

std::vector<TableSeries> series_of(const std::vector<Measurement>& rows,
                                   const std::string& series_column) {
  const SeriesFinder finder(rows, series_column);
  std::vector<Group> groups;
  std::map<std::string, std::size_t> place;
  std::map<std::string, PhasesByCount> phases;
  bool unreliable = false;
  for (const Measurement& row : rows) {
    if (row.warm_up || !row.workers) continue;
    unreliable |= !row.unreliable.empty();
    if (!row.unreliable.empty()) continue;
    if (is_phase(row.metric) && std::isfinite(row.value)) {
      phases[finder.name(row)][static_cast<double>(*row.workers)][row.metric].push_back(row.value);
    }
    if (!metric_from_name(row.metric)) continue;
    if (!series_column.empty() && record::column_text(row, series_column).empty()) {
      throw Error(ErrorKind::kData, fmt::format("the table has no column '{}'", series_column),
                  "give a column of the table with --series-column, or omit the option");
    }
    const auto [found, added] = place.emplace(finder.identity(row), groups.size());
    if (added) groups.push_back({finder.key(row), finder.name(row), {}});
    groups[found->second].rows.push_back(&row);
  }
  if (groups.empty() && unreliable) {
    throw Error(ErrorKind::kData, "all runs were oversubscribed: their timings are unreliable",
                "train with workers x threads not above the number of cores");
  }
  if (groups.empty()) {
    throw Error(ErrorKind::kData,
                "the table has no throughput, step_time, epoch_time or total_time at a known "
                "number of workers",
                "fill the columns workers, metric and value");
  }
  std::vector<TableSeries> result;
  for (const Group& group : groups) {
    result.push_back(make_table_series(group));
    const auto found = phases.find(result.back().name);
    if (found != phases.end()) result.back().phases = phases_of(found->second);
  }
  return result;
}

std::vector<LearningSeries> learning_series(const std::vector<TableSeries>& table) {
  std::vector<LearningSeries> result;
  for (const TableSeries& one : table) {
    const std::string family = one.model.substr(0, one.model.find(' '));
    const std::string kind =
        one.scaling_assumed ? "not stated" : std::string(record::scaling_name(one.scaling));
    result.push_back(
        {one.series, one.source + '\x1f' + family + '\x1f' + one.device, one.source, kind});
  }
  return result;
}

namespace {

/// Predictions need a time and a worker count: of runs that lack one, which it is.
void require_times(const std::vector<Measurement>& rows) {
  bool timed = false;
  for (const Measurement& row : rows) {
    if (!metric_from_name(row.metric)) continue;
    if (row.workers) return;
    timed = true;
  }
  if (timed) {
    throw Error(ErrorKind::kData, "the number of workers of the runs that have a time is unknown",
                "import them again: lockstep import --replace --set workers=N FILE");
  }
  throw Error(ErrorKind::kData,
              "no run has a time: throughput, step_time, epoch_time and total_time are missing",
              "import or train a run that has one");
}

}  // namespace

std::vector<TableSeries> job_series(const std::vector<Measurement>& rows, RowsFrom from,
                                    const std::string& series_column) {
  if (from == RowsFrom::kStore) require_times(rows);
  std::vector<TableSeries> all = series_of(rows, series_column);
  if (!series_column.empty()) return all;
  return most_direct(all);
}

std::vector<TableSeries> job_series_if_any(const std::vector<Measurement>& rows, RowsFrom from) {
  try {
    return job_series(rows, from);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    return {};
  }
}

}  // namespace lockstep::predict
