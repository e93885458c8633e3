#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lockstep/analyze/verdict/verdict.h"

namespace lockstep::analyze {

// The parts of verdict(); each adds the findings of its topics.
void assess_workers(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings);
void assess_device(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings);
void assess_limit(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings);
void assess_quality(std::span<const Configuration> configurations, std::vector<Finding>& findings);

/// Of a group for which ranks_trained_apart() is true; otherwise empty.
std::string ranks_apart_sentence(const SpeedupGroup& group);

/// Groups of the same network and data set.
using ModelKey = std::tuple<std::string, std::string>;
std::map<ModelKey, std::vector<const SpeedupGroup*>> by_model(std::span<const SpeedupGroup> groups);

/// Points of a group that share the fixed batch, two or more with a speedup, by worker count.
using PointSeries = std::vector<const SpeedupPoint*>;
std::vector<PointSeries> series_of(const SpeedupGroup& group);

/// The series that a point of a group belongs to.
SeriesKey series_key(const SpeedupGroup& group, const SpeedupPoint& point);

/// The largest count of the series up to which every step pays, as an index into it. A step that
/// is_disturbed_gain() does not.
std::size_t paying_index(const PointSeries& series, TimeBasis basis);

/// Whether `high` is faster than the added workers can make it, and other programs slowed `low`
/// down: the gain is theirs.
bool is_disturbed_gain(const SpeedupPoint& low, const SpeedupPoint& high, TimeBasis basis);

/// "other programs ran during these runs: 1 cpu, b = 64, B = 64 (45 % of the CPU time) ..."; empty
/// if nothing is known of any.
std::string disturbed_runs(std::span<const Configuration> configurations);

/// Whether any step up in worker count pays.
bool any_count_pays(const PointSeries& series, TimeBasis basis);

/// Two points of the same work on different devices (or the same device set up otherwise).
struct DevicePair {
  const SpeedupPoint* a = nullptr;
  const SpeedupPoint* b = nullptr;
  TimeBasis basis = TimeBasis::kEpochTime;
  double ratio = 1;  ///< speed of b over speed of a
  bool same_time() const;
};
std::vector<DevicePair> device_pairs(std::span<const SpeedupGroup> groups);

/// Speed of `point` over that of `other`, by their common basis.
double speed_ratio(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis);

/// "81 s per epoch", "480 s in all", "1,229 examples/s", "12 ms per step".
std::string figure_text(const SpeedupPoint& point, TimeBasis basis);

/// The same without what it is of: "81 s", "1,229", "12 ms".
std::string short_figure(const SpeedupPoint& point, TimeBasis basis);

/// Both figures: "81 s against 209 s per epoch".
std::string figures_text(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis,
                         const char* joint = "against");

/// "4 v100", "2 workers".
std::string devices_text(const Configuration& c);

/// "B = 32" under strong scaling, "b = 32" under weak.
std::string batch_text(const SpeedupPoint& point, const SpeedupGroup& group);

/// "81", "0.0471", "1,528": at most four significant digits.
std::string number_text(double value);

}  // namespace lockstep::analyze
