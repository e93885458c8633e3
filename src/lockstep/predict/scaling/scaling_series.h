#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/record/scaling.h"

namespace lockstep::predict {

/// What a scaling series measures. All are turned into a rate (work per second), in which perfect
/// scaling is a straight line through the origin.
enum class Metric {
  kThroughput,  ///< examples per second
  kStepTime,
  kEpochTime,
  kTotalTime,
  kOtherRate,  ///< of tokens, operations, ...; examples do not follow from it
};

std::string_view metric_name(Metric metric);
/// Any name that ends with "_per_s" is another rate (tokens_per_s). Nothing for metrics that do not
/// scale with the number of workers (losses, accuracies).
std::optional<Metric> metric_from_name(std::string_view name);

using record::Scaling;

/// Work per second behind a measured value. With weak scaling a step is as much work as there are
/// workers; with strong scaling it is one global batch for any number of them.
/// With mixed scaling a step is `batch` examples per worker, in whatever unit all points share.
double rate_of(Metric metric, Scaling scaling, double workers, double value, double batch = 1);
/// The inverse: the value of the metric at a rate.
double value_of(Metric metric, Scaling scaling, double workers, double rate, double batch = 1);

/// More than any job has; larger counts are not measurements, and nothing is predicted for them.
inline constexpr double kMostWorkers = 1e9;

/// One measured worker count.
struct ScalingPoint {
  double workers = 0;
  double rate = 0;
  int nodes = 0;     ///< hosts used; 0 = not known
  double batch = 0;  ///< per worker; 0 = not known
};

/// Measured points of one configuration, ready to be modelled: ascending distinct worker counts,
/// positive finite rates.
struct ScalingSeries {
  std::string name;
  std::vector<ScalingPoint> points;
  Scaling scaling = Scaling::kWeak;
  /// The values are times of an amount of work that all workers share, with what happens once in
  /// them: whole runs, or epochs of which nobody knows how they were scaled.
  bool whole_time = false;
  /// Those runs are all of as many epochs. Otherwise they may have ended at a target.
  bool same_work = false;
  int devices_per_host = 0;  ///< 0 = not known; locates the host boundary without `nodes`
  /// Standard deviation of the logarithm between repeats of the same count; 0 without repeats.
  double repeat_spread = 0;
  /// Relative standard deviation that rounded values leave at the last count; 0 = negligible.
  double rounding = 0;
  std::vector<std::string> notes;  ///< what was left out or merged, one sentence each
};

/// Sorts, leaves out what cannot be a measurement (zero, negative, infinite, absurd; see `notes`),
/// and merges repeats of a count into their median. The result may be empty.
ScalingSeries make_series(std::string name, const std::vector<ScalingPoint>& measured,
                          int devices_per_host = 0);

/// More workers have less to do each: the global batch is fixed, or does not grow with the count,
/// or a whole run is shared out.
bool shares_work(const ScalingSeries& series);

/// Log efficiency of each point against the first.
std::vector<double> log_efficiencies(const std::vector<ScalingPoint>& points);

/// Change of log efficiency per doubling of workers from each point to the next; negative where
/// efficiency falls.
std::vector<double> slopes(const std::vector<ScalingPoint>& points);

}  // namespace lockstep::predict
