#include "lockstep/analyze/speedup/speedup_series.h"
#include "lockstep/record/measurement_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "lockstep/base/units.h"

namespace lockstep::analyze {
namespace {

/// Work per second in a unit that is the same for all points of a group.
double speed_of(const SpeedupPoint& point, TimeBasis basis) {
  if (basis == TimeBasis::kThroughput) return point.value;
  if (basis == TimeBasis::kStepTime) {
    return static_cast<double>(point.configuration.global_batch.value_or(0)) / point.value;
  }
  return static_cast<double>(point.configuration.examples.value_or(1)) / point.value;
}

/// A distributed sampler repeats or drops examples until every worker has the same number, so an
/// epoch of the same data differs by less than a global batch from one worker count to the next.
bool same_data(const Configuration& a, const Configuration& b) {
  if (a.examples == b.examples) return true;
  if (!a.examples || !b.examples) return false;
  const std::int64_t batch = std::max(a.global_batch.value_or(1), b.global_batch.value_or(1));
  return std::abs(*a.examples - *b.examples) < batch;
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

/// "global batch", "batch per worker": what is the same for all points of a series.
std::string_view fixed_name(Scaling scaling) {
  if (scaling == Scaling::kUnstated) return "batch";
  return scaling == Scaling::kStrong ? "global batch" : "batch per worker";
}

/// Logs often have times but no batch. Where the user states what was fixed, rates and times of
/// the same data can be compared without knowing its size; step times cannot.
bool take_batch_as_said(SpeedupGroup& group, const SpeedupOptions& options) {
  const bool known = std::any_of(group.points.begin(), group.points.end(), [&](const auto& point) {
    return fixed_batch(point.configuration, group.scaling).has_value();
  });
  if (known || !options.scaling || group.basis == TimeBasis::kStepTime) return false;
  group.remarks.push_back(
      fmt::format("no batch size is known: the {} is taken as fixed, as stated with --scaling",
                  fixed_name(group.scaling)));
  return true;
}

std::map<double, Series> series_by_batch(SpeedupGroup& group, const SpeedupOptions& options) {
  const bool as_said = take_batch_as_said(group, options);
  std::map<double, Series> series;
  for (SpeedupPoint& point : group.points) {
    auto batch = fixed_batch(point.configuration, group.scaling);
    const bool any_batch =
        group.scaling == Scaling::kUnstated ||
        (group.scaling == Scaling::kMixed &&
         (group.basis != TimeBasis::kStepTime || point.configuration.global_batch));
    if (as_said || (any_batch && !batch)) batch = 0;
    if (!batch || !point.configuration.workers) {
      group.refusals.push_back(fmt::format("{} is not compared: its {} is unknown",
                                           point.configuration.label(),
                                           point.configuration.workers ? "batch" : "worker count"));
      continue;
    }
    series[*batch].push_back(&point);
  }
  return series;
}

/// The smallest worker count that every series of two points or more has; else of most series.
std::optional<std::int64_t> common_baseline(const std::map<double, Series>& series) {
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

void compare_series(SpeedupGroup& group, const Series& points) {
  const std::string name =
      group.scaling == Scaling::kMixed
          ? "the series"
          : series_key(points.front()->configuration, group.scaling).batch_text();
  for (SpeedupPoint* point : points) {
    SpeedupPoint* baseline = baseline_for(points, *point, *group.baseline_workers);
    if (baseline == nullptr) {
      if (points.size() < 2) return;
      group.refusals.push_back(
          fmt::format("{} has no run on {}: its speedups would have a different "
                      "baseline ({}) from the others and are left out",
                      name, counted(*group.baseline_workers, "worker"),
                      *points.front()->configuration.workers));
      return;
    }
    baseline->baseline = true;
    const auto reason = unlike(baseline->configuration, point->configuration, group.scaling);
    if (reason) {
      group.refusals.push_back(fmt::format("{} is not compared with {}: {}",
                                           point->configuration.label(),
                                           baseline->configuration.label(), *reason));
      continue;
    }
    compare(*point, *baseline, group.basis, group.scaling);
  }
}

/// The last batch of an epoch is filled up or left out differently at every N.
void remark_on_examples(SpeedupGroup& group) {
  std::map<std::int64_t, std::int64_t> examples;
  for (const SpeedupPoint& point : group.points) {
    const Configuration& c = point.configuration;
    if (point.speedup && c.examples) examples[*c.examples] = *c.workers;
  }
  if (examples.size() < 2 || group.basis == TimeBasis::kThroughput) return;
  const auto& [fewest, at_fewest] = *examples.begin();
  const auto& [most, at_most] = *examples.rbegin();
  group.remarks.push_back(
      fmt::format("an epoch has {} examples at N = {} and {} at N = {}, as a sampler fills up the "
                  "last batch or leaves it out: speedups are ratios of examples per second",
                  fewest, at_fewest, most, at_most));
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
  parts.reserve(threads.size());
  for (const auto& [workers, count] : threads) {
    parts.push_back(fmt::format("{} at N = {}", count, workers));
  }
  group.remarks.push_back(
      fmt::format("threads per worker differ ({}): the speedup is that of the whole machine, not "
                  "of adding devices of one kind",
                  fmt::join(parts, ", ")));
}

/// The same global batch in micro-steps, of which more workers need fewer.
void remark_on_micro_steps(SpeedupGroup& group) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const SpeedupPoint& point : group.points) {
    if (point.speedup) counts[*point.configuration.workers] = point.configuration.micro_steps;
  }
  std::vector<std::string> parts;
  bool any = false;
  for (const auto& [workers, count] : counts) {
    any = any || count > 1;
    parts.push_back(
        fmt::format("{}{} at N = {}", count, parts.empty() ? " micro-steps" : "", workers));
  }
  if (!any) return;
  group.remarks.push_back(
      fmt::format("gradients are accumulated to keep B ({}): b is what a worker computes per step",
                  fmt::join(parts, ", ")));
}

}  // namespace

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
  if (baseline.other_work != other.other_work ||
      (other.other_work && baseline.example_unit != other.example_unit)) {
    return differ("units of work", baseline.rate_unit(), other.rate_unit());
  }
  if (!same_data(baseline, other)) return "different numbers of examples";
  const auto a = fixed_batch(baseline, scaling);
  const auto b = fixed_batch(other, scaling);
  if (a && b && *a != *b) {
    constexpr std::array kBatches{"global batches", "batches per worker", "", "batches"};
    return fmt::format("different {} ({} and {})", kBatches[static_cast<std::size_t>(scaling)],
                       record::batch_text(*a), record::batch_text(*b));
  }
  return std::nullopt;
}

void add_speedups(SpeedupGroup& group, const SpeedupOptions& options) {
  const bool several_counts =
      std::any_of(group.points.begin(), group.points.end(), [&](const SpeedupPoint& point) {
        return point.configuration.workers != group.points.front().configuration.workers;
      });
  if (!several_counts) return;
  if (group.scaling == Scaling::kUnstated && group.basis == TimeBasis::kStepTime) {
    group.refusals.push_back(
        "no speedups: step times can be compared only if the batch per worker or the global batch "
        "is "
        "known; lockstep import states it with --set batch=N or --set global_batch=N, and for "
        "tables "
        "with --set batch_of=worker or --set batch_of=all");
    return;
  }
  const auto series = series_by_batch(group, options);
  group.baseline_workers =
      options.baseline_workers ? options.baseline_workers : common_baseline(series);
  if (!group.baseline_workers) {
    group.refusals.push_back(fmt::format("no speedups: no two worker counts share the same {}",
                                         fixed_name(group.scaling)));
    return;
  }
  for (const auto& [batch, points] : series) compare_series(group, points);
  remark_on_threads(group);
  remark_on_micro_steps(group);
  remark_on_examples(group);
  if (group.scaling == Scaling::kMixed && group.has_speedups()) {
    group.remarks.push_back(
        "both batches change with the number of workers: a speedup contains the effect of the "
        "batch per worker");
  }
  if (group.scaling == Scaling::kUnstated && group.has_speedups()) {
    const bool stated =
        std::any_of(group.points.begin(), group.points.end(),
                    [](const auto& point) { return point.configuration.stated_batch.has_value(); });
    group.remarks.push_back(
        stated
            ? "the source does not state whether a batch is of one worker or of all; these "
              "speedups are the same for both; lockstep import --set batch_of=worker or --set "
              "batch_of=all states it"
            : "no batch is known, so whether the batch per worker or the global batch was fixed is "
              "unknown; the speedups compare the rates of the same work");
  }
  if (*group.baseline_workers > 1 && !options.baseline_workers && group.has_speedups()) {
    group.remarks.push_back(fmt::format("no run on 1 worker: speedups are relative to {} workers",
                                        *group.baseline_workers));
  }
}

}  // namespace lockstep::analyze
