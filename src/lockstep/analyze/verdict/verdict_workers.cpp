#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "lockstep/analyze/speedup/speedup_series.h"
#include "lockstep/analyze/verdict/verdict_parts.h"

namespace lockstep::analyze {
namespace {

double workers_ratio(const SpeedupPoint& point, const SpeedupPoint& other) {
  return static_cast<double>(*point.configuration.workers) /
         static_cast<double>(*other.configuration.workers);
}

/// Share of the best possible gain that the step from `low` to `high` gave.
double gain_share(const SpeedupPoint& low, const SpeedupPoint& high, TimeBasis basis) {
  return (speed_ratio(high, low, basis) - 1) / (workers_ratio(high, low) - 1);
}

/// From this share of the ideal gain on, more than the worker count changed.
constexpr double kAboveIdeal = 1.1;

/// "4 are 1.69x as fast as 1".
std::string against(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis) {
  return fmt::format("{} are {:.2f}x as fast as {}", *point.configuration.workers,
                     speed_ratio(point, other, basis), *other.configuration.workers);
}

std::string series_sentence(const SpeedupGroup& group, const PointSeries& series) {
  const SpeedupPoint& first = *series.front();
  const std::size_t paying = paying_index(series, group.basis);
  std::string text = fmt::format("{}, {}: ", group.title(), batch_text(first, group));
  if (paying + 1 < series.size() &&
      is_disturbed_gain(*series[paying], *series[paying + 1], group.basis)) {
    const SpeedupPoint& few = *series[paying];
    const SpeedupPoint& many = *series[paying + 1];
    return text + fmt::format(
                      "{} ({}), more than the added workers can give, but other programs ran "
                      "during the run on {} ({}): measure it again on a quiet machine.",
                      against(many, few, group.basis), figures_text(many, few, group.basis),
                      *few.configuration.workers, few.configuration.disturbed);
  }
  if (paying == 0) {
    std::vector<std::string> steps;
    for (std::size_t i = 1; i < series.size(); ++i) {
      steps.push_back(fmt::format("{} ({})", against(*series[i], first, group.basis),
                                  figures_text(*series[i], first, group.basis)));
    }
    return text + fmt::format("more than {} do not pay off: {}.", *first.configuration.workers,
                              fmt::join(steps, ", "));
  }
  const SpeedupPoint& best = *series[paying];
  const double efficiency = best.efficiency.value_or(0);
  text +=
      fmt::format("use {}: {:.2f}x as fast as {} ({}), efficiency {:.2f}",
                  *best.configuration.workers, speed_ratio(best, first, group.basis),
                  *first.configuration.workers, figures_text(best, first, group.basis), efficiency);
  if (efficiency > kAboveIdeal)
    text += " (above 1: more than the worker count changed, or the baseline is off)";
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
  return fmt::format("{}: no worker count above the smallest pays off: at best {}.",
                     all.front().first->model, fmt::join(parts, "; "));
}

}  // namespace

std::size_t paying_index(const PointSeries& series, TimeBasis basis) {
  std::size_t at = 0;
  while (at + 1 < series.size() &&
         gain_share(*series[at], *series[at + 1], basis) >= kPayingShare &&
         !is_disturbed_gain(*series[at], *series[at + 1], basis)) {
    ++at;
  }
  return at;
}

bool is_disturbed_gain(const SpeedupPoint& low, const SpeedupPoint& high, TimeBasis basis) {
  return !low.configuration.disturbed.empty() && gain_share(low, high, basis) > kAboveIdeal;
}

std::vector<PointSeries> series_of(const SpeedupGroup& group) {
  std::map<double, PointSeries> series;
  for (const SpeedupPoint& point : group.points) {
    if (!point.speedup) continue;
    series[fixed_batch(point.configuration, group.scaling).value_or(0)].push_back(&point);
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

SeriesKey series_key(const SpeedupGroup& group, const SpeedupPoint& point) {
  return series_key(point.configuration, group.scaling);
}

bool any_count_pays(const PointSeries& series, TimeBasis basis) {
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (gain_share(*series.front(), *series[i], basis) >= kPayingShare) return true;
  }
  return false;
}

void assess_workers(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  for (const auto& [key, members] : by_model(groups)) {
    std::vector<std::pair<const SpeedupGroup*, PointSeries>> all;
    bool pays = false;
    for (const SpeedupGroup* group : members) {
      if (std::string apart = ranks_apart_sentence(*group); !apart.empty()) {
        findings.push_back({Topic::kWorkers, std::move(apart)});
        continue;
      }
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

}  // namespace lockstep::analyze
