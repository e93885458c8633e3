#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/base/statistics.h"
#include "lockstep/record/measurement.h"

namespace lockstep::analyze {

/// Measured, or computed from measurements by a stated formula.
enum class Origin { kMeasured, kDerived };

/// "measured", "derived".
std::string_view origin_name(Origin origin);

/// All that was measured of one way to train: one network, data set, device, worker count and
/// batch. Repeats of a metric are values of one sample.
struct Configuration {
  std::string model;
  std::string dataset;
  std::string device;
  /// Settings that set this configuration apart from others: "cpus=16", "strategy=blocking".
  std::string variant;
  std::map<std::string, std::string> settings;  ///< the same, by name
  std::string strategy;                         ///< of gradient synchronisation; empty = unknown
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> workers;       ///< N
  std::optional<double> batch_per_worker;    ///< b; B/N where only B was given
  std::optional<std::int64_t> global_batch;  ///< B; N b where only b was given
  std::optional<std::int64_t> stated_batch;  ///< b or B: the source does not state which
  std::optional<std::int64_t> examples;      ///< per epoch
  std::optional<std::int64_t> epochs;
  std::optional<record::Scaling> scaling;  ///< where the source states it
  bool gave_batch_per_worker = false;
  bool gave_global_batch = false;
  bool unreliable = false;                         ///< a source marked its timings so
  bool contains_warm_up = false;                   ///< in some of its times
  std::string disturbed;                           ///< of one of its runs; see Measurement
  std::optional<std::int64_t> threads_per_worker;  ///< of a CPU worker
  std::optional<std::int64_t> parameters;
  std::int64_t micro_steps = 1;                   ///< that b was accumulated in, to keep B
  std::optional<std::int64_t> loader_workers;     ///< processes per worker that load data
  std::optional<std::int64_t> flops_per_example;  ///< operations of forward and backward
  std::string example_unit;                       ///< "images", "sequences"; empty = "examples"
  /// `throughput` counts `example_unit` (tokens, operations), of which no number of examples
  /// follows.
  bool other_work = false;

  /// Values by metric, without those of warm-up epochs. Of a curve the last epoch's.
  std::map<std::string, std::vector<double>> values;
  /// Values by epoch, where the source gives the epoch: metric -> epoch -> mean over repeats.
  std::map<std::string, std::map<int, double>> curves;

  /// Median of a metric; nothing when it was not measured or is not finite.
  std::optional<double> value(const std::string& metric) const;
  Summary summary(const std::string& metric) const;
  /// ceil(examples / B): an incomplete last batch is a step too.
  std::optional<std::int64_t> steps_per_epoch() const;
  /// "examples/s", "tokens/s".
  std::string rate_unit() const;
  /// "2 v100, b = 16, B = 32".
  std::string label() const;
};

/// Groups rows into configurations, in order of model, data set, device, variant, B, b, N. Metrics
/// that begin with reported_ are left out (see audit.h). A row with the metric `parameters` gives
/// the size of its model for all configurations of that model.
std::vector<Configuration> configurations(std::span<const record::Measurement> rows);

/// Settings beyond the table's own columns whose value differs between rows, by column name.
/// Threads per worker are among them only where one worker count was run with several: a host that
/// divides its cores among more workers makes one series, with a remark.
std::set<std::string> distinguishing_settings(std::span<const record::Measurement> rows);

/// What the rates of all of them count: "tokens/s"; "examples/s" where they differ. Not empty.
std::string common_rate_unit(std::span<const Configuration* const> all);

/// The configuration of one row, without values.
Configuration configuration_of(const record::Measurement& row,
                               const std::set<std::string>& distinguishing);

}  // namespace lockstep::analyze
