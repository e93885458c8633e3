#include "lockstep/predict/series_table.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/predict/host_boundary.h"

namespace lockstep::predict {
namespace {

using record::Measurement;

std::string number_or_empty(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

std::string note(const Measurement& row, const std::string& column) {
  const auto found = row.notes.find(column);
  return found == row.notes.end() ? "" : found->second;
}

/// What two rows share when only their number of workers differs.
std::string key_of(const Measurement& row, const std::string& series_column) {
  if (!series_column.empty()) return note(row, series_column) + '\x1f' + row.metric;
  std::string key = row.model + '\x1f' + row.dataset + '\x1f' + row.device + '\x1f' + row.metric +
                    '\x1f' + row.unit + '\x1f' + number_or_empty(row.epochs) + '\x1f';
  // The batch that stays fixed: per worker where it is given, else global.
  key += row.batch_per_worker ? "b" + std::to_string(*row.batch_per_worker)
                              : "B" + number_or_empty(row.global_batch);
  for (const auto& [name, text] : row.notes) key += '\x1f' + name + '=' + text;
  return key;
}

std::string name_of(const Measurement& row, const std::string& series_column) {
  if (!series_column.empty()) return note(row, series_column);
  std::string name;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) name += (name.empty() ? "" : ", ") + text;
  };
  add(row.model);
  add(row.dataset);
  add(row.device);
  if (row.batch_per_worker) {
    add("b " + std::to_string(*row.batch_per_worker));
  } else if (row.global_batch) {
    add("B " + std::to_string(*row.global_batch));
  }
  for (const auto& [column, text] : row.notes) {
    if (column != "series" && column != "study" && column != "line") add(text);
  }
  return name.empty() ? "all rows" : name;
}

/// Says what stays fixed: a `scaling` column, else whichever batch does not change with workers.
Scaling scaling_of(const std::vector<const Measurement*>& rows) {
  const std::string stated = note(*rows.front(), "scaling");
  if (stated == "strong") return Scaling::kStrong;
  if (stated == "weak") return Scaling::kWeak;
  std::set<std::int64_t> per_worker;
  std::set<std::int64_t> global;
  for (const Measurement* row : rows) {
    if (row->batch_per_worker) per_worker.insert(*row->batch_per_worker);
    if (row->global_batch) global.insert(*row->global_batch);
  }
  const bool fixed_global = global.size() == 1 && per_worker.size() != 1;
  return fixed_global ? Scaling::kStrong : Scaling::kWeak;
}

TableSeries make_table_series(const std::vector<const Measurement*>& rows,
                              const std::string& series_column) {
  const Measurement& first = *rows.front();
  TableSeries table;
  table.name = name_of(first, series_column);
  table.metric = *metric_from_name(first.metric);
  table.scaling = scaling_of(rows);
  table.unit = first.unit;
  table.model = first.model;
  table.device = first.device;
  table.batch_per_worker = first.batch_per_worker;
  table.global_batch = first.global_batch;
  table.examples = first.examples;
  table.epochs = first.epochs;
  table.source = note(first, "source");
  std::vector<ScalingPoint> points;
  for (const Measurement* row : rows) {
    const auto workers = static_cast<double>(*row->workers);
    points.push_back({workers, rate_of(table.metric, table.scaling, workers, row->value),
                      static_cast<int>(row->nodes.value_or(0))});
  }
  table.series = make_series(table.name, points, devices_per_host(table.device));
  table.series.scaling = table.scaling;
  return table;
}

}  // namespace

std::vector<TableSeries> series_of(const std::vector<Measurement>& rows,
                                   const std::string& series_column) {
  std::vector<std::vector<const Measurement*>> groups;
  std::map<std::string, std::size_t> place;
  for (const Measurement& row : rows) {
    if (!row.workers || !metric_from_name(row.metric)) continue;
    if (!series_column.empty() && row.notes.count(series_column) == 0) {
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
  for (const auto& group : groups) result.push_back(make_table_series(group, series_column));
  return result;
}

std::vector<LearningSeries> learning_series(const std::vector<TableSeries>& table) {
  std::vector<LearningSeries> result;
  for (const TableSeries& one : table) {
    const std::string family = one.model.substr(0, one.model.find(' '));
    result.push_back({one.series, one.source + '\x1f' + family + '\x1f' + one.device});
  }
  return result;
}

}  // namespace lockstep::predict
