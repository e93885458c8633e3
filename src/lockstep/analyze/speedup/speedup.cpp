#include "lockstep/analyze/speedup/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "lockstep/analyze/speedup/speedup_series.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

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
  return std::tuple(c.model, c.dataset, c.device, c.variant, epochs_that_matter(c),
                    c.other_work ? c.example_unit : "");
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

void remark_on_warm_up(SpeedupGroup& group) {
  std::int64_t count = 0;
  for (const SpeedupPoint& point : group.points) count += point.configuration.contains_warm_up;
  if (count == 0) return;
  group.remarks.push_back(
      fmt::format("the times of {} include the warm-up, because its runs had one epoch or, with "
                  "--steps, at most 40 steps; longer runs exclude it",
                  count == static_cast<std::int64_t>(group.points.size())
                      ? "every configuration"
                      : fmt::format("{} of {} configurations", count, group.points.size())));
}

SpeedupGroup make_group(std::span<const Configuration> members, TimeBasis basis,
                        const SpeedupOptions& options, const ScalingRule& rule) {
  SpeedupGroup group;
  const Configuration& first = members.front();
  group.model = first.model;
  group.dataset = first.dataset;
  group.device = first.device;
  group.variant = first.variant;
  group.settings = first.settings;
  const bool same_epochs = std::all_of(members.begin(), members.end(),
                                       [&](const auto& c) { return c.epochs == first.epochs; });
  if (same_epochs) group.epochs = first.epochs;
  group.scaling = rule.of(first);
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
    return std::tuple(fixed_batch(c, group.scaling), c.workers);
  };
  std::stable_sort(group.points.begin(), group.points.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  add_speedups(group, options);
  remark_on_warm_up(group);
  return group;
}

bool same_worker_count(const SpeedupGroup& group) {
  return std::all_of(group.points.begin(), group.points.end(), [&](const SpeedupPoint& point) {
    return point.configuration.workers == group.points.front().configuration.workers;
  });
}

/// A count that was run on one device only, beside other counts on another: the ratio of their
/// times would mix what the count did with what the device did.
void refuse_across_devices(std::vector<SpeedupGroup>& groups) {
  for (SpeedupGroup& group : groups) {
    if (group.points.empty() || !same_worker_count(group)) continue;
    for (const SpeedupGroup& other : groups) {
      if (other.points.empty() || other.device == group.device || other.model != group.model ||
          other.dataset != group.dataset || other.variant != group.variant ||
          other.points.front().configuration.workers ==
              group.points.front().configuration.workers) {
        continue;
      }
      group.refusals.push_back(
          fmt::format("{} is not compared with {}: {}", group.points.front().configuration.label(),
                      other.points.front().configuration.label(),
                      *unlike(other.points.front().configuration,
                              group.points.front().configuration, Scaling::kWeak)));
      break;
    }
  }
}

}  // namespace

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
  if (epochs && basis == TimeBasis::kTotalTime) text += ", " + counted(*epochs, "epoch");
  return text;
}

bool SpeedupGroup::has_speedups() const {
  return std::any_of(points.begin(), points.end(), [](const SpeedupPoint& point) {
    return point.speedup.has_value() && !point.baseline;
  });
}

std::vector<SpeedupGroup> speedups(std::span<const Configuration> configurations,
                                   const SpeedupOptions& options) {
  const ScalingRule rule(configurations, options.scaling);
  using Key = decltype(group_key(std::declval<Configuration>()));
  std::map<std::pair<Key, bool>, std::vector<Configuration>> members;
  for (const Configuration& c : configurations) {
    members[{group_key(c), rule.of(c) == Scaling::kMixed}].push_back(c);
  }
  std::vector<SpeedupGroup> groups;
  bool found_baseline = !options.baseline_workers;
  for (const auto& [key, group] : members) {
    const auto basis = basis_of(group);
    if (!basis) continue;
    groups.push_back(make_group(group, *basis, options, rule));
    found_baseline |= std::any_of(groups.back().points.begin(), groups.back().points.end(),
                                  [&](const SpeedupPoint& point) {
                                    return point.configuration.workers == options.baseline_workers;
                                  });
  }
  refuse_across_devices(groups);
  if (!found_baseline) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the requested baseline of {} was not measured",
                            counted(*options.baseline_workers, "worker")),
                "choose a measured worker count");
  }
  return groups;
}

}  // namespace lockstep::analyze
