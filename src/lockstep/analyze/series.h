#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lockstep/analyze/configuration.h"
#include "lockstep/record/scaling.h"

namespace lockstep::analyze {

using record::Scaling;

/// What the points of one series have in common: all but the number of workers, and the batch that
/// changes with it. Speedups, verdicts, predictions and advice use the same series.
struct SeriesKey {
  std::string model{};
  std::string dataset{};
  std::string device{};
  std::map<std::string, std::string> settings{};  ///< that distinguish configurations of the table
  Scaling scaling = Scaling::kUnstated;
  /// That is fixed: B of strong, b of weak scaling, either of unstated.
  std::optional<double> batch{};

  bool operator==(const SeriesKey&) const = default;
  bool operator<(const SeriesKey& other) const;
  /// "cpus=16, strategy=overlap".
  std::string setting() const;
  /// "B = 512", "b = 32", "batch 64"; "" when it is unknown.
  std::string batch_text() const;
};

/// B of strong scaling, b of weak, either of unstated; nothing with mixed scaling or if the
/// configuration does not have it.
std::optional<double> fixed_batch(const Configuration& c, Scaling scaling);

/// The series of a configuration under a kind of scaling.
SeriesKey series_key(const Configuration& c, Scaling scaling);

/// Finds which kind of scaling the configurations of one table belong to: what a column `scaling`
/// states; else a table that gives only B fixed B, and one that gives only b fixed b; with both,
/// whichever makes the longer series, weak scaling when equal. One answer for all configurations
/// that agree in model, data set, device and settings; those whose source states that both batches
/// change (mixed) are one series of all their batches. Unstated where no batch is known, or of
/// several workers only one that may be b or B.
class ScalingRule {
 public:
  explicit ScalingRule(std::span<const Configuration> configurations,
                       std::optional<Scaling> stated = {});

  Scaling of(const Configuration& c) const;
  SeriesKey key(const Configuration& c) const { return series_key(c, of(c)); }

 private:
  using Group = std::tuple<std::string, std::string, std::string, std::string>;
  static Group group_of(const Configuration& c);

  std::map<Group, Scaling> scaling_;
  bool stated_ = false;
};

/// One short label each: parts (device, setting, batch) that all have in common are left out,
/// unless nothing would remain. Labels that come out the same get a number.
std::vector<std::string> short_labels(std::span<const SeriesKey> keys);

/// "fashion on fashion-mnist".
std::string job_name(const std::string& model, const std::string& dataset);

}  // namespace lockstep::analyze
