#include "lockstep/predict/devices/batch_transfer.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::predict {
namespace {

struct BatchTime {
  double batch;
  double step_time;  ///< up to a constant of the table: seconds, or seconds times examples
  int nodes;
};

/// Weighted by 1/t: relative errors count. Falls back to time proportional to the batch, or to a
/// constant, when the straight line would be negative somewhere.
Eigen::Vector2d line(const std::vector<BatchTime>& times) {
  const auto rows = static_cast<Eigen::Index>(times.size());
  Eigen::MatrixXd a(rows, 2);
  for (Eigen::Index r = 0; r < rows; ++r) {
    const BatchTime& time = times[static_cast<std::size_t>(r)];
    a.row(r) << 1 / time.step_time, time.batch / time.step_time;
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(rows);
  Eigen::Vector2d both = a.colPivHouseholderQr().solve(ones);
  if (both.minCoeff() >= 0) return both;
  const int keep = both(0) < 0 ? 1 : 0;
  both.setZero();
  both(keep) = a.col(keep).dot(ones) / a.col(keep).squaredNorm();
  return both;
}

double relative_misfit(const std::vector<BatchTime>& times, const Eigen::Vector2d& fit) {
  double squares = 0;
  for (const BatchTime& time : times) {
    squares += std::pow((fit(0) + fit(1) * time.batch) / time.step_time - 1, 2);
  }
  return std::sqrt(squares / static_cast<double>(times.size()));
}

bool two_batches(const std::vector<BatchTime>& times) {
  return std::any_of(times.begin(), times.end(),
                     [&](const BatchTime& time) { return time.batch != times.front().batch; });
}

/// What a series is called but for its batch: series that share it differ in the batch alone.
std::string name_at(const TableSeries& table, const std::string& batch) {
  std::string name = table.name;
  const std::string own = "b " + record::batch_text(table.batch_per_worker.value_or(0));
  const std::size_t at = name.find(own);
  return at == std::string::npos ? name + ", " + batch : name.replace(at, own.size(), batch);
}

/// The series at another batch from those that differ in the batch alone; nothing without two
/// batches at one count.
std::optional<TableSeries> derived(const std::vector<TableSeries>& measured,
                                   std::int64_t batch_per_worker) {
  std::map<double, std::vector<BatchTime>> by_count;
  double smallest = 1e300;
  double largest = 0;
  for (const TableSeries& table : measured) {
    const double batch = *table.batch_per_worker;
    smallest = std::min(smallest, batch);
    largest = std::max(largest, batch);
    // A rate in steps x workers for step times, in examples or epochs otherwise.
    const double work = table.metric == Metric::kStepTime ? 1 : batch;
    for (const ScalingPoint& point : table.series.points) {
      by_count[point.workers].push_back({batch, work * point.workers / point.rate, point.nodes});
    }
  }
  const auto wanted = static_cast<double>(batch_per_worker);
  std::vector<ScalingPoint> points;
  double misfit = 0.01;
  for (const auto& [workers, times] : by_count) {
    if (!two_batches(times)) continue;
    const Eigen::Vector2d fit = line(times);
    misfit = std::max(misfit, relative_misfit(times, fit));
    const double step = fit(0) + fit(1) * wanted;
    const double work = measured.front().metric == Metric::kStepTime ? 1 : wanted;
    points.push_back({workers, work * workers / step, times.front().nodes});
  }
  if (points.empty()) return std::nullopt;
  TableSeries result = measured.front();
  result.name = name_at(result, fmt::format("b {} (derived)", batch_per_worker));
  result.batch_per_worker = result.key.batch = wanted;
  result.global_batch.reset();
  result.derived = true;
  // Those of another batch.
  result.phases.clear();
  result.whole_runs.clear();
  result.series = make_series(result.name, points, result.series.devices_per_host);
  const double beyond = std::max({std::log2(wanted / largest), std::log2(smallest / wanted), 0.0});
  result.series.repeat_spread = misfit * (1 + 2 * beyond) + 0.03 * beyond;
  result.series.notes.push_back(fmt::format(
      "step times at b = {} are from a line c0 + c1 b fitted to the measured batches {:g} to {:g}",
      batch_per_worker, smallest, largest));
  return result;
}

}  // namespace

std::vector<TableSeries> series_at_batch(const std::vector<TableSeries>& measured,
                                         std::int64_t batch_per_worker) {
  std::map<std::string, std::vector<TableSeries>> alike;
  for (const TableSeries& table : measured) {
    if (table.scaling != Scaling::kWeak || !table.batch_per_worker) continue;
    alike[name_at(table, "") + std::string(metric_name(table.metric))].push_back(table);
  }
  std::vector<TableSeries> result;
  for (const auto& [name, tables] : alike) {
    if (auto one = derived(tables, batch_per_worker)) result.push_back(std::move(*one));
  }
  if (result.empty()) {
    throw Error(ErrorKind::kData,
                fmt::format("a batch of {} per worker cannot be derived from what was measured",
                            batch_per_worker),
                "measure two batches per worker at the same number of workers");
  }
  return result;
}

}  // namespace lockstep::predict
