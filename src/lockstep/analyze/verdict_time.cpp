#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/verdict_parts.h"

namespace lockstep::analyze {
namespace {

std::string devices_text(const Configuration& c) {
  std::string text =
      fmt::format("{} {}", c.workers.value_or(1), c.device.empty() ? "workers" : c.device);
  return c.variant.empty() ? text : text + " (" + c.variant + ")";
}

double workers_ratio(const SpeedupPoint& point, const SpeedupPoint& other) {
  return static_cast<double>(*point.configuration.workers) /
         static_cast<double>(*other.configuration.workers);
}

/// Share of the best possible gain that the step from `low` to `high` gave.
double gain_share(const SpeedupPoint& low, const SpeedupPoint& high, TimeBasis basis) {
  return (speed_ratio(high, low, basis) - 1) / (workers_ratio(high, low) - 1);
}

/// The largest count up to which every step pays.
std::size_t paying_index(const PointSeries& series, TimeBasis basis) {
  std::size_t at = 0;
  while (at + 1 < series.size() &&
         gain_share(*series[at], *series[at + 1], basis) >= kPayingShare) {
    ++at;
  }
  return at;
}

/// "81 s against 209 s an epoch".
std::string figures_text(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis,
                         const char* joint = "against") {
  return fmt::format("{} {} {}", short_figure(point, basis), joint, figure_text(other, basis));
}

/// "4 are 1.69x as fast as 1".
std::string against(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis) {
  return fmt::format("{} are {:.2f}x as fast as {}", *point.configuration.workers,
                     speed_ratio(point, other, basis), *other.configuration.workers);
}

std::string series_sentence(const SpeedupGroup& group, const PointSeries& series) {
  const SpeedupPoint& first = *series.front();
  const std::size_t paying = paying_index(series, group.basis);
  std::string text = fmt::format("{}, {}: ", group.title(), batch_text(first, group));
  if (paying == 0) {
    std::vector<std::string> steps;
    for (std::size_t i = 1; i < series.size(); ++i) {
      steps.push_back(fmt::format("{} ({})", against(*series[i], first, group.basis),
                                  figures_text(*series[i], first, group.basis)));
    }
    return text + fmt::format("more than {} do not pay: {}.", *first.configuration.workers,
                              fmt::join(steps, ", "));
  }
  const SpeedupPoint& best = *series[paying];
  const double efficiency = best.efficiency.value_or(0);
  text +=
      fmt::format("use {}: {:.2f}x as fast as {} ({}), efficiency {:.2f}",
                  *best.configuration.workers, speed_ratio(best, first, group.basis),
                  *first.configuration.workers, figures_text(best, first, group.basis), efficiency);
  if (efficiency > 1.1) text += " (above 1: more than the count changed, or the baseline is off)";
  if (paying + 1 < series.size()) {
    const SpeedupPoint& next = *series[paying + 1];
    const double ratio = speed_ratio(next, best, group.basis);
    text += ratio >= 1 ? fmt::format("; {} would be {:.2f}x as fast for {:.3g}x the devices",
                                     *next.configuration.workers, ratio, workers_ratio(next, best))
                       : fmt::format("; {} are slower ({})", *next.configuration.workers,
                                     figure_text(next, group.basis));
  }
  return text + ".";
}

/// The fastest of the counts beyond the smallest.
const SpeedupPoint& fastest_beyond_first(const PointSeries& series, TimeBasis basis) {
  return **std::max_element(series.begin() + 1, series.end(), [&](const auto* a, const auto* b) {
    return speed_ratio(*a, *series.front(), basis) < speed_ratio(*b, *series.front(), basis);
  });
}

/// One sentence for a model none of whose series pays.
std::string nothing_pays_sentence(
    const std::vector<std::pair<const SpeedupGroup*, PointSeries>>& all) {
  std::vector<std::string> parts;
  for (const auto& [group, series] : all) {
    const SpeedupPoint& first = *series.front();
    const SpeedupPoint& best = fastest_beyond_first(series, group->basis);
    parts.push_back(
        fmt::format("{} are {:.2f}x as fast as {} at {} ({})", devices_text(best.configuration),
                    speed_ratio(best, first, group->basis), *first.configuration.workers,
                    batch_text(first, *group), figures_text(best, first, group->basis)));
  }
  return fmt::format("{}: no worker count pays beyond the smallest: at best {}.",
                     all.front().first->model, fmt::join(parts, "; "));
}

using ModelKey = std::tuple<std::string, std::string>;

std::map<ModelKey, std::vector<const SpeedupGroup*>> by_model(
    std::span<const SpeedupGroup> groups) {
  std::map<ModelKey, std::vector<const SpeedupGroup*>> sorted;
  for (const SpeedupGroup& group : groups) sorted[{group.model, group.dataset}].push_back(&group);
  return sorted;
}

/// The least and the most of the times of all points, as text.
std::string time_range(const std::vector<const SpeedupGroup*>& groups) {
  const SpeedupPoint* low = nullptr;
  const SpeedupPoint* high = nullptr;
  for (const SpeedupGroup* group : groups) {
    for (const SpeedupPoint& point : group->points) {
      if (low == nullptr || point.value < low->value) low = &point;
      if (high == nullptr || point.value > high->value) high = &point;
    }
  }
  const TimeBasis basis = groups.front()->basis;
  return figures_text(*low, *high, basis, "to");
}

/// Neither workers nor device matter: the time is elsewhere.
void judge_too_small(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  const auto pairs = device_pairs(groups);
  for (const auto& [key, members] : by_model(groups)) {
    bool any_series = false;
    bool pays = false;
    std::optional<std::int64_t> fewest;
    for (const SpeedupGroup* group : members) {
      for (const PointSeries& series : series_of(*group)) {
        any_series = true;
        pays |= any_count_pays(series, group->basis);
        const std::int64_t workers = *series.front()->configuration.workers;
        fewest = std::min(fewest.value_or(workers), workers);
      }
    }
    const auto of_model = [&, key = key](const DevicePair& pair) {
      return std::tie(pair.a->configuration.model, pair.a->configuration.dataset) == key;
    };
    const bool compared = std::any_of(pairs.begin(), pairs.end(), of_model);
    const bool same = std::all_of(pairs.begin(), pairs.end(), [&](const DevicePair& pair) {
      return !of_model(pair) || pair.same_time();
    });
    if (!any_series || pays || !compared || !same) continue;
    findings.push_back(
        {Topic::kLimit,
         fmt::format("{}: the time is not in compute: neither more workers nor another device "
                     "shortened it by more than {:.0f} % ({}). Fixed costs and input dominate; the "
                     "data set is too small for more than {} workers.",
                     members.front()->model, 100 * kSameTime, time_range(members), *fewest)});
  }
}

std::string split_text(const TimeSplit& split) {
  return fmt::format("{:.0f} % ({} of {} s, {})", 100 * split.communication_share(),
                     number_text(split.communication_s), number_text(split.total_s),
                     split.configuration.label());
}

void judge_derived(const SpeedupGroup& group, const std::vector<TimeSplit>& splits,
                   std::vector<Finding>& findings) {
  const auto [least, most] =
      std::minmax_element(splits.begin(), splits.end(), [](const TimeSplit& a, const TimeSplit& b) {
        return a.communication_share() < b.communication_share();
      });
  if (most->communication_share() < 0.2) {
    findings.push_back(
        {Topic::kLimit, fmt::format("{}: the work divides well: what does not divide, T(N) - "
                                    "T(1)/N (derived), is at most {}.",
                                    group.title(), split_text(*most))});
    return;
  }
  std::string text = fmt::format(
      "{}: communication and whatever else does not divide, T(N) - T(1)/N (derived), takes {}",
      group.title(), split_text(*most));
  if (least != most) text += " at worst";
  if (most->communication_share() >= 0.5) text += ", where it is the limit";
  if (least != most) text += fmt::format(", and {} at best", split_text(*least));
  text += ".";
  findings.push_back({Topic::kLimit, text});
}

void judge_measured(const SpeedupGroup& group, const TimeSplit& split,
                    std::vector<Finding>& findings) {
  struct Part {
    const char* name;
    double seconds;
  };
  std::vector<Part> parts{{"compute", split.compute_s},
                          {"input", split.input_s.value_or(0)},
                          {"other", split.other_s.value_or(0)}};
  if (split.wait_s && split.transfer_s) {
    parts.push_back({"waiting for the slowest rank", *split.wait_s});
    parts.push_back({"moving gradients", *split.transfer_s});
  } else {
    parts.push_back({"exposed communication", split.communication_s});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
  findings.push_back(
      {Topic::kLimit,
       fmt::format(
           "{}, {}: {} is the limit with {:.0f} % of a step of {} ms (measured), then {} with "
           "{:.0f} %.",
           group.title(), split.configuration.label(), parts[0].name,
           100 * parts[0].seconds / split.total_s, number_text(1000 * split.total_s), parts[1].name,
           100 * parts[1].seconds / split.total_s)});
}

}  // namespace

double speed_ratio(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis) {
  const double ratio = point.value / other.value;
  if (basis == TimeBasis::kThroughput) return ratio;
  if (basis != TimeBasis::kStepTime) return 1 / ratio;
  const double work = static_cast<double>(point.configuration.global_batch.value_or(1)) /
                      static_cast<double>(other.configuration.global_batch.value_or(1));
  return work / ratio;
}

std::vector<PointSeries> series_of(const SpeedupGroup& group) {
  std::map<std::int64_t, PointSeries> series;
  for (const SpeedupPoint& point : group.points) {
    if (!point.speedup || !group.scaling) continue;
    const auto batch = *group.scaling == Scaling::kStrong ? point.configuration.global_batch
                                                          : point.configuration.batch_per_worker;
    series[batch.value_or(0)].push_back(&point);
  }
  std::vector<PointSeries> result;
  for (auto& [batch, points] : series) {
    std::stable_sort(points.begin(), points.end(), [](const auto* a, const auto* b) {
      return *a->configuration.workers < *b->configuration.workers;
    });
    points.erase(std::unique(points.begin(), points.end(),
                             [](const auto* a, const auto* b) {
                               return a->configuration.workers == b->configuration.workers;
                             }),
                 points.end());
    if (points.size() > 1) result.push_back(points);
  }
  return result;
}

bool any_count_pays(const PointSeries& series, TimeBasis basis) {
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (gain_share(*series.front(), *series[i], basis) >= kPayingShare) return true;
  }
  return false;
}

bool DevicePair::same_time() const {
  return std::fabs(ratio - 1) <= kSameTime;
}

std::vector<DevicePair> device_pairs(std::span<const SpeedupGroup> groups) {
  std::vector<DevicePair> pairs;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      const SpeedupGroup& a = groups[i];
      const SpeedupGroup& b = groups[j];
      const bool one_differs = (a.device != b.device) != (a.variant != b.variant);
      if (a.model != b.model || a.dataset != b.dataset || a.epochs != b.epochs ||
          a.basis != b.basis || !one_differs) {
        continue;
      }
      for (const SpeedupPoint& p : a.points) {
        for (const SpeedupPoint& q : b.points) {
          const Configuration& x = p.configuration;
          const Configuration& y = q.configuration;
          if (x.workers != y.workers || x.batch_per_worker != y.batch_per_worker ||
              x.global_batch != y.global_batch || x.examples != y.examples) {
            continue;
          }
          pairs.push_back({&p, &q, a.basis, speed_ratio(q, p, a.basis)});
        }
      }
    }
  }
  return pairs;
}

void judge_workers(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  for (const auto& [key, members] : by_model(groups)) {
    std::vector<std::pair<const SpeedupGroup*, PointSeries>> all;
    bool pays = false;
    for (const SpeedupGroup* group : members) {
      for (const PointSeries& series : series_of(*group)) {
        pays |= any_count_pays(series, group->basis);
        all.emplace_back(group, series);
      }
    }
    if (all.empty()) continue;
    if (!pays) {
      findings.push_back({Topic::kWorkers, nothing_pays_sentence(all)});
      continue;
    }
    for (const auto& [group, series] : all) {
      findings.push_back({Topic::kWorkers, series_sentence(*group, series)});
    }
  }
}

void judge_device(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  for (const DevicePair& pair : device_pairs(groups)) {
    const std::string from = devices_text(pair.a->configuration);
    const std::string to = devices_text(pair.b->configuration);
    const std::string model = pair.a->configuration.model;
    if (pair.same_time()) {
      findings.push_back(
          {Topic::kDevice,
           fmt::format(
               "{}: going from {} to {} changed nothing: {} ({:.1f} % apart), so the device "
               "is not the limit.",
               model, from, to, figures_text(*pair.a, *pair.b, pair.basis, "and"),
               100 * std::fabs(pair.ratio - 1))});
      continue;
    }
    const bool faster = pair.ratio > 1;
    const SpeedupPoint& fast = faster ? *pair.b : *pair.a;
    const SpeedupPoint& slow = faster ? *pair.a : *pair.b;
    findings.push_back(
        {Topic::kDevice,
         fmt::format("{}: {} {} {:.2f}x as fast as {}: {}.", model,
                     devices_text(fast.configuration),
                     fast.configuration.workers.value_or(1) == 1 ? "is" : "are",
                     faster ? pair.ratio : 1 / pair.ratio, devices_text(slow.configuration),
                     figures_text(fast, slow, pair.basis))});
  }
}

void judge_limit(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  for (const SpeedupGroup& group : groups) {
    const std::vector<TimeSplit> splits = time_splits(group);
    std::vector<TimeSplit> derived;
    const TimeSplit* largest = nullptr;
    for (const TimeSplit& split : splits) {
      if (split.origin == Origin::kDerived) {
        derived.push_back(split);
      } else if (largest == nullptr ||
                 split.configuration.workers > largest->configuration.workers) {
        largest = &split;
      }
    }
    if (largest != nullptr) judge_measured(group, *largest, findings);
    if (largest == nullptr && !derived.empty()) judge_derived(group, derived, findings);
  }
  judge_too_small(groups, findings);
}

}  // namespace lockstep::analyze
