#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/series.h"

namespace lockstep::analyze {

/// The measured figure that times are taken from; all points of a group use the same one.
enum class TimeBasis { kEpochTime, kThroughput, kStepTime, kTotalTime };

/// "epoch_time", "throughput", ...: the metric's name.
std::string metric_of(TimeBasis basis);

struct SpeedupPoint {
  Configuration configuration;
  /// Median of the basis: seconds, or examples/s for kThroughput.
  double value = 0;
  double deviation = 0;  ///< sample standard deviation; 0 for one value
  std::size_t count = 0;
  /// Seconds per epoch, or of the whole run for kTotalTime; nothing when examples are unknown.
  std::optional<double> time_s;
  Origin time_origin = Origin::kMeasured;
  std::optional<double> examples_per_s;
  Origin rate_origin = Origin::kMeasured;

  bool baseline = false;
  /// S = T(N0)/T(N) = throughput(N)/throughput(N0), N0 the baseline's workers.
  std::optional<double> speedup;
  std::optional<double> efficiency;  ///< S N0 / N
  /// The scaled form (N/N0) t(N0)/t(N) of step times t; not a speedup, though equal to it when b is
  /// fixed.
  std::optional<double> scaled;
};

/// Points that may be compared: one network, data set, device and variant, one kind of scaling, one
/// basis, one baseline count; where only whole runs were timed, one count of epochs. Ordered by the
/// fixed batch, then N.
struct SpeedupGroup {
  std::string model;
  std::string dataset;
  std::string device;
  std::string variant;
  std::map<std::string, std::string> settings;  ///< the same, by name
  std::optional<std::int64_t> epochs;
  Scaling scaling = Scaling::kUnstated;
  TimeBasis basis = TimeBasis::kEpochTime;
  std::optional<std::int64_t> baseline_workers;  ///< N0
  std::vector<SpeedupPoint> points;
  std::vector<std::string> refusals;  ///< comparisons that were not made, each with its reason
  std::vector<std::string> remarks;   ///< notes on those that were

  /// "resnet18-cifar on cifar10, v100".
  std::string title() const;
  bool has_speedups() const;
};

struct SpeedupOptions {
  std::optional<std::int64_t>
      baseline_workers{};            ///< default: the smallest count that all series have
  std::optional<Scaling> scaling{};  ///< default: by the table's batches
};

/// Why T(N0)/T(N) of these two would compare unlike things; nothing when it may be formed.
std::optional<std::string> unlike(const Configuration& baseline, const Configuration& other,
                                  Scaling scaling);

/// Every group of the table that has a time. Throws kUsage when the baseline asked for was measured
/// in none of them.
std::vector<SpeedupGroup> speedups(std::span<const Configuration> configurations,
                                   const SpeedupOptions& options = {});

}  // namespace lockstep::analyze
