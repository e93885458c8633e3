#include "lockstep/analyze/speedup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "lockstep/base/error.h"

namespace lockstep::analyze {
namespace {

constexpr std::array kBases{TimeBasis::kEpochTime, TimeBasis::kThroughput, TimeBasis::kStepTime,
                            TimeBasis::kTotalTime};

/// An epoch or a step takes as long in a run of 3 epochs as in one of 5; only whole runs must have
/// the same count to be compared.
std::optional<std::int64_t> epochs_that_matter(const Configuration& c) {
  const bool finer = c.value("epoch_time") || c.value("throughput") || c.value("step_time");
  return finer ? std::nullopt : c.epochs;
}

auto group_key(const Configuration& c) {
  return std::tuple(c.model, c.dataset, c.device, c.variant, epochs_that_matter(c));
}

std::optional<std::int64_t> fixed_batch(const Configuration& c, Scaling scaling) {
  return scaling == Scaling::kStrong ? c.global_batch : c.batch_per_worker;
}

/// Points that lie on a series of two counts or more when this batch is held fixed.
std::size_t points_in_series(std::span<const Configuration> members, Scaling scaling) {
  std::map<std::int64_t, std::set<std::int64_t>> counts;
  for (const Configuration& c : members) {
    const auto batch = fixed_batch(c, scaling);
    if (batch && c.workers) counts[*batch].insert(*c.workers);
  }
  std::size_t points = 0;
  for (const auto& [batch, workers] : counts) points += workers.size() > 1 ? workers.size() : 0;
  return points;
}

/// A table that gives only B fixed B, one that gives only b fixed b. With both, what makes the
/// longer series; weak scaling when equal.
std::optional<Scaling> scaling_of(std::span<const Configuration> members) {
  bool per_worker = false;
  bool global = false;
  for (const Configuration& c : members) {
    per_worker |= c.gave_batch_per_worker;
    global |= c.gave_global_batch;
  }
  if (!per_worker && !global) return std::nullopt;
  if (per_worker != global) return global ? Scaling::kStrong : Scaling::kWeak;
  return points_in_series(members, Scaling::kStrong) > points_in_series(members, Scaling::kWeak)
             ? Scaling::kStrong
             : Scaling::kWeak;
}

/// The basis that most members have; the first of equals, epoch times before totals.
std::optional<TimeBasis> basis_of(std::span<const Configuration> members) {
  std::optional<TimeBasis> best;
  std::ptrdiff_t most = 0;
  for (const TimeBasis basis : kBases) {
    const auto have = std::count_if(members.begin(), members.end(), [&](const Configuration& c) {
      return c.value(metric_of(basis)).has_value();
    });
    if (have > most) {
      most = have;
      best = basis;
    }
  }
  return best;
}

void fill_time_and_rate(SpeedupPoint& point, TimeBasis basis) {
  const Configuration& c = point.configuration;
  const auto derive = [](std::optional<double>& target, Origin& origin, double value) {
    target = value;
    origin = Origin::kDerived;
  };
  if (const auto rate = c.value("throughput")) point.examples_per_s = *rate;
  if (basis == TimeBasis::kThroughput) {
    if (c.examples) {
      derive(point.time_s, point.time_origin, static_cast<double>(*c.examples) / point.value);
    }
  } else if (basis == TimeBasis::kStepTime) {
    if (c.steps_per_epoch()) {
      derive(point.time_s, point.time_origin,
             point.value * static_cast<double>(*c.steps_per_epoch()));
    }
    if (!point.examples_per_s && c.global_batch) {
      derive(point.examples_per_s, point.rate_origin,
             static_cast<double>(*c.global_batch) / point.value);
    }
  } else {
    point.time_s = point.value;
    const double epochs =
        basis == TimeBasis::kTotalTime ? static_cast<double>(c.epochs.value_or(0)) : 1;
    if (!point.examples_per_s && c.examples && epochs > 0) {
      derive(point.examples_per_s, point.rate_origin,
             static_cast<double>(*c.examples) * epochs / point.value);
    }
  }
}

/// Work per second in a unit that is the same for all points of a group.
double speed_of(const SpeedupPoint& point, TimeBasis basis) {
  if (basis == TimeBasis::kThroughput) return point.value;
  if (basis == TimeBasis::kStepTime) {
    return static_cast<double>(point.configuration.global_batch.value_or(0)) / point.value;
  }
  return 1 / point.value;
}

void compare(SpeedupPoint& point, const SpeedupPoint& baseline, TimeBasis basis, Scaling scaling) {
  const double n = static_cast<double>(*point.configuration.workers);
  const double n0 = static_cast<double>(*baseline.configuration.workers);
  const double ratio = speed_of(point, basis) / speed_of(baseline, basis);
  point.speedup = ratio;
  point.efficiency = ratio * n0 / n;
  // (N/N0) t(N0)/t(N) of step times t: with b fixed a step does N/N0 times the work, and that is S.
  point.scaled = scaling == Scaling::kStrong ? ratio * n / n0 : ratio;
}

using Series = std::vector<SpeedupPoint*>;

/// Logs often tell times but no batch. Where the user says what was held fixed, rates and times of
/// the same data can be compared without knowing its size; step times cannot.
bool take_batch_as_said(SpeedupGroup& group, const SpeedupOptions& options) {
  const bool known = std::any_of(group.points.begin(), group.points.end(), [&](const auto& point) {
    return fixed_batch(point.configuration, *group.scaling).has_value();
  });
  if (known || !options.scaling || group.basis == TimeBasis::kStepTime) return false;
  group.remarks.push_back(
      fmt::format("no batch is known: that the {} was held fixed is taken as said",
                  *group.scaling == Scaling::kStrong ? "global batch" : "batch per worker"));
  return true;
}

std::map<std::int64_t, Series> series_by_batch(SpeedupGroup& group, const SpeedupOptions& options) {
  const bool as_said = take_batch_as_said(group, options);
  std::map<std::int64_t, Series> series;
  for (SpeedupPoint& point : group.points) {
    auto batch = fixed_batch(point.configuration, *group.scaling);
    if (as_said) batch = 0;
    if (!batch || !point.configuration.workers) {
      group.refusals.push_back(fmt::format("{} is compared with nothing: its {} is unknown",
                                           point.configuration.label(),
                                           point.configuration.workers ? "batch" : "worker count"));
      continue;
    }
    series[*batch].push_back(&point);
  }
  return series;
}

/// The smallest worker count that every series of two points or more has; else of most series.
std::optional<std::int64_t> common_baseline(const std::map<std::int64_t, Series>& series) {
  std::map<std::int64_t, int> lowest;
  for (const auto& [batch, points] : series) {
    if (points.size() > 1) ++lowest[*points.front()->configuration.workers];
  }
  if (lowest.empty()) return std::nullopt;
  return std::max_element(lowest.begin(), lowest.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// The point that the others of a series are compared with: on N0 workers, and of a run of the same
/// length as `point` where there are several.
SpeedupPoint* baseline_for(const Series& points, const SpeedupPoint& point, std::int64_t workers) {
  SpeedupPoint* found = nullptr;
  for (SpeedupPoint* candidate : points) {
    if (candidate->configuration.workers != workers) continue;
    const bool same = candidate->configuration.epochs == point.configuration.epochs;
    if (found == nullptr || same) found = candidate;
    if (same) break;
  }
  return found;
}

void compare_series(SpeedupGroup& group, std::int64_t batch, const Series& points) {
  const char* name = *group.scaling == Scaling::kStrong ? "B" : "b";
  for (SpeedupPoint* point : points) {
    SpeedupPoint* baseline = baseline_for(points, *point, *group.baseline_workers);
    if (baseline == nullptr) {
      if (points.size() < 2) return;
      group.refusals.push_back(fmt::format(
          "{} = {} has no run on {} worker(s): its speedups would have another baseline "
          "({}) than the rest and are left out",
          name, batch, *group.baseline_workers, *points.front()->configuration.workers));
      return;
    }
    baseline->baseline = true;
    const auto reason = unlike(baseline->configuration, point->configuration, *group.scaling);
    if (reason) {
      group.refusals.push_back(fmt::format("{} is not compared with {}: {}",
                                           point->configuration.label(),
                                           baseline->configuration.label(), *reason));
      continue;
    }
    compare(*point, *baseline, group.basis, *group.scaling);
  }
}

/// A CPU that is divided among its workers is not the same device at every N.
void remark_on_threads(SpeedupGroup& group) {
  std::map<std::int64_t, std::int64_t> threads;
  for (const SpeedupPoint& point : group.points) {
    const Configuration& c = point.configuration;
    if (point.speedup && c.threads_per_worker) threads[*c.workers] = *c.threads_per_worker;
  }
  const bool same = std::all_of(threads.begin(), threads.end(), [&](const auto& entry) {
    return entry.second == threads.begin()->second;
  });
  if (same) return;
  std::vector<std::string> parts;
  for (const auto& [workers, count] : threads) {
    parts.push_back(fmt::format("{} at N = {}", count, workers));
  }
  group.remarks.push_back(
      fmt::format("threads per worker differ ({}): the speedup is that of the whole machine, not "
                  "of more devices "
                  "of one kind",
                  fmt::join(parts, ", ")));
}

void remark_on_warm_up(SpeedupGroup& group) {
  std::int64_t count = 0;
  for (const SpeedupPoint& point : group.points) count += point.configuration.contains_warm_up;
  if (count == 0) return;
  group.remarks.push_back(fmt::format(
      "the times of {} contain the warm-up, because its runs had one epoch: train two for times "
      "without it",
      count == static_cast<std::int64_t>(group.points.size())
          ? "every configuration"
          : fmt::format("{} of {} configurations", count, group.points.size())));
}

void add_speedups(SpeedupGroup& group, const SpeedupOptions& options) {
  const bool several_counts =
      std::any_of(group.points.begin(), group.points.end(), [&](const SpeedupPoint& point) {
        return point.configuration.workers != group.points.front().configuration.workers;
      });
  if (!several_counts) return;
  if (!group.scaling) {
    group.refusals.push_back(
        "no speedups: the table gives neither batch_per_worker nor global_batch, so it cannot be "
        "told whether the global batch or the batch per worker was held fixed; --scaling strong or "
        "weak says it");
    return;
  }
  const auto series = series_by_batch(group, options);
  group.baseline_workers =
      options.baseline_workers ? options.baseline_workers : common_baseline(series);
  if (!group.baseline_workers) {
    group.refusals.push_back(
        fmt::format("no speedups: no two worker counts share the same {}",
                    *group.scaling == Scaling::kStrong ? "global batch" : "batch per worker"));
    return;
  }
  for (const auto& [batch, points] : series) compare_series(group, batch, points);
  remark_on_threads(group);
  if (*group.baseline_workers > 1 && !options.baseline_workers && group.has_speedups()) {
    group.remarks.push_back(fmt::format(
        "there is no run on 1 worker: speedups are over {} workers and say nothing about one",
        *group.baseline_workers));
  }
}

SpeedupGroup make_group(std::span<const Configuration> members, TimeBasis basis,
                        const SpeedupOptions& options) {
  SpeedupGroup group;
  const Configuration& first = members.front();
  group.model = first.model;
  group.dataset = first.dataset;
  group.device = first.device;
  group.variant = first.variant;
  const bool same_epochs = std::all_of(members.begin(), members.end(),
                                       [&](const auto& c) { return c.epochs == first.epochs; });
  if (same_epochs) group.epochs = first.epochs;
  group.scaling = options.scaling ? options.scaling : scaling_of(members);
  group.basis = basis;
  const std::string metric = metric_of(basis);
  for (const Configuration& c : members) {
    if (!c.value(metric)) {
      if (std::any_of(kBases.begin(), kBases.end(),
                      [&](TimeBasis other) { return c.value(metric_of(other)).has_value(); })) {
        group.refusals.push_back(
            fmt::format("{} is left out: it has no {}, which the others have", c.label(), metric));
      }
      continue;
    }
    const Summary summary = c.summary(metric);
    SpeedupPoint point;
    point.configuration = c;
    point.value = summary.median;
    point.deviation = summary.deviation;
    point.count = summary.count;
    fill_time_and_rate(point, basis);
    group.points.push_back(std::move(point));
  }
  const auto place = [&](const SpeedupPoint& point) {
    const Configuration& c = point.configuration;
    return std::tuple(group.scaling ? fixed_batch(c, *group.scaling) : c.global_batch, c.workers);
  };
  std::stable_sort(group.points.begin(), group.points.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  add_speedups(group, options);
  remark_on_warm_up(group);
  return group;
}

}  // namespace

std::string_view scaling_name(Scaling scaling) {
  return scaling == Scaling::kStrong ? "strong" : "weak";
}

Scaling scaling_from_name(std::string_view name) {
  if (name == "strong") return Scaling::kStrong;
  if (name == "weak") return Scaling::kWeak;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a kind of scaling", name),
              "choose strong (global batch fixed) or weak (batch per worker fixed)");
}

std::string metric_of(TimeBasis basis) {
  constexpr std::array<const char*, 4> kNames{"epoch_time", "throughput", "step_time",
                                              "total_time"};
  return kNames[static_cast<std::size_t>(basis)];
}

std::string SpeedupGroup::title() const {
  std::string text = model.empty() ? "unnamed model" : model;
  if (!dataset.empty()) text += " on " + dataset;
  if (!device.empty()) text += ", " + device;
  if (!variant.empty()) text += " (" + variant + ")";
  if (epochs && basis == TimeBasis::kTotalTime) text += fmt::format(", {} epoch(s)", *epochs);
  return text;
}

bool SpeedupGroup::has_speedups() const {
  return std::any_of(points.begin(), points.end(), [](const SpeedupPoint& point) {
    return point.speedup.has_value() && !point.baseline;
  });
}

std::optional<std::string> unlike(const Configuration& baseline, const Configuration& other,
                                  Scaling scaling) {
  const auto differ = [](const char* what, const std::string& a, const std::string& b) {
    return fmt::format("different {} ({} and {})", what, a.empty() ? "unknown" : a,
                       b.empty() ? "unknown" : b);
  };
  if (baseline.model != other.model) return differ("models", baseline.model, other.model);
  if (baseline.dataset != other.dataset) {
    return differ("data sets", baseline.dataset, other.dataset);
  }
  if (baseline.device != other.device) return differ("devices", baseline.device, other.device);
  if (baseline.variant != other.variant) {
    return differ("settings", baseline.variant, other.variant);
  }
  if (baseline.examples != other.examples) return "different counts of examples";
  const auto a = fixed_batch(baseline, scaling);
  const auto b = fixed_batch(other, scaling);
  if (a && b && *a != *b) {
    return fmt::format("different {} ({} and {})",
                       scaling == Scaling::kStrong ? "global batches" : "batches per worker", *a,
                       *b);
  }
  return std::nullopt;
}

std::vector<SpeedupGroup> speedups(std::span<const Configuration> configurations,
                                   const SpeedupOptions& options) {
  using Key = decltype(group_key(std::declval<Configuration>()));
  std::map<Key, std::vector<Configuration>> members;
  for (const Configuration& c : configurations) members[group_key(c)].push_back(c);
  std::vector<SpeedupGroup> groups;
  bool found_baseline = !options.baseline_workers;
  for (const auto& [key, group] : members) {
    const auto basis = basis_of(group);
    if (!basis) continue;
    groups.push_back(make_group(group, *basis, options));
    found_baseline |= std::any_of(groups.back().points.begin(), groups.back().points.end(),
                                  [&](const SpeedupPoint& point) {
                                    return point.configuration.workers == options.baseline_workers;
                                  });
  }
  if (!found_baseline) {
    throw Error(ErrorKind::kUsage,
                fmt::format("nothing was measured on {} worker(s), the baseline asked for",
                            *options.baseline_workers),
                "choose a worker count of the table");
  }
  return groups;
}

}  // namespace lockstep::analyze
