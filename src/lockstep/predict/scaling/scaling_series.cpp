#include "lockstep/predict/scaling/scaling_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"

namespace lockstep::predict {
namespace {

struct MetricName {
  Metric metric;
  std::string_view name;
};

constexpr std::array<MetricName, 5> kMetrics{{{Metric::kThroughput, "throughput"},
                                              {Metric::kStepTime, "step_time"},
                                              {Metric::kEpochTime, "epoch_time"},
                                              {Metric::kTotalTime, "total_time"},
                                              {Metric::kOtherRate, "rate"}}};

bool is_rate(Metric metric) {
  return metric == Metric::kThroughput || metric == Metric::kOtherRate;
}

/// Work done in the time that the metric measures, up to a constant of the series.
double work(Metric metric, Scaling scaling, double workers, double batch) {
  if (metric != Metric::kStepTime || scaling == Scaling::kStrong) return 1;
  return scaling == Scaling::kWeak ? workers : workers * batch;
}

bool usable(const ScalingPoint& point) {
  return point.workers >= 1 && point.workers <= kMostWorkers && std::isfinite(point.rate) &&
         point.rate > 1e-100 && point.rate < 1e100;
}

}  // namespace

std::string_view metric_name(Metric metric) {
  for (const MetricName& entry : kMetrics) {
    if (entry.metric == metric) return entry.name;
  }
  return "";
}

std::optional<Metric> metric_from_name(std::string_view name) {
  for (const MetricName& entry : kMetrics) {
    if (entry.name == name) return entry.metric;
  }
  if (name.ends_with("_per_s")) return Metric::kOtherRate;
  return std::nullopt;
}

double rate_of(Metric metric, Scaling scaling, double workers, double value, double batch) {
  return is_rate(metric) ? value : work(metric, scaling, workers, batch) / value;
}

double value_of(Metric metric, Scaling scaling, double workers, double rate, double batch) {
  return is_rate(metric) ? rate : work(metric, scaling, workers, batch) / rate;
}

ScalingSeries make_series(std::string name, const std::vector<ScalingPoint>& measured,
                          int devices_per_host) {
  ScalingSeries series;
  series.name = std::move(name);
  series.devices_per_host = std::max(devices_per_host, 0);
  std::map<double, std::vector<ScalingPoint>> by_count;
  for (const ScalingPoint& point : measured) {
    if (usable(point)) {
      by_count[point.workers].push_back(point);
    } else {
      series.notes.push_back(fmt::format("left out a value at {:g} workers: {}", point.workers,
                                         point.workers > kMostWorkers
                                             ? "implausible number of workers"
                                             : "not a positive, finite measurement"));
    }
  }
  double squares = 0;
  std::size_t freedom = 0;
  for (const auto& [workers, repeats] : by_count) {
    std::vector<double> logs;
    for (const ScalingPoint& point : repeats) logs.push_back(std::log(point.rate));
    const Summary summary = summarize(logs);
    const double rate = repeats.size() == 1 ? repeats.front().rate : std::exp(summary.median);
    series.points.push_back({workers, rate, repeats.front().nodes, repeats.front().batch});
    if (repeats.size() < 2) continue;
    squares += summary.deviation * summary.deviation * static_cast<double>(repeats.size() - 1);
    freedom += repeats.size() - 1;
    series.notes.push_back(fmt::format("median of {} measurements at {}", repeats.size(),
                                       counted(std::llround(workers), "worker")));
  }
  if (freedom > 0) series.repeat_spread = std::sqrt(squares / static_cast<double>(freedom));
  return series;
}

bool shares_work(const ScalingSeries& series) {
  return series.scaling != Scaling::kWeak || series.whole_time;
}

std::vector<double> log_efficiencies(const std::vector<ScalingPoint>& points) {
  std::vector<double> logs;
  logs.reserve(points.size());
  for (const ScalingPoint& point : points) {
    logs.push_back(std::log(point.rate / point.workers) -
                   std::log(points.front().rate / points.front().workers));
  }
  return logs;
}

std::vector<double> slopes(const std::vector<ScalingPoint>& points) {
  const std::vector<double> logs = log_efficiencies(points);
  std::vector<double> result;
  for (std::size_t i = 1; i < points.size(); ++i) {
    result.push_back((logs[i] - logs[i - 1]) /
                     std::log2(points[i].workers / points[i - 1].workers));
  }
  return result;
}

}  // namespace lockstep::predict
