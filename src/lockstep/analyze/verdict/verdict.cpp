#include "lockstep/analyze/verdict/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "lockstep/analyze/speedup/speedup_series.h"
#include "lockstep/analyze/verdict/verdict_parts.h"
#include "lockstep/base/units.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::analyze {
namespace {

std::string place(const std::string& device, std::optional<std::int64_t> workers) {
  std::string kind = device.empty() ? "worker" : device;
  if (!workers) return kind;
  return counted(*workers, kind, device);
}

/// The largest batch per worker that ran and the smallest that ran out of memory, by device and
/// worker count: workers of one host share its memory.
void assess_memory(std::span<const Configuration> configurations, std::vector<Finding>& findings) {
  struct Limits {
    double largest = 0;
    double failed = 0;
  };
  std::map<std::tuple<std::string, std::string, std::optional<std::int64_t>>, Limits> limits;
  for (const Configuration& c : configurations) {
    if (!c.batch_per_worker) continue;
    Limits& limit = limits[{c.model, c.device, c.workers}];
    if (c.value("out_of_memory").value_or(0) > 0) {
      limit.failed =
          limit.failed == 0 ? *c.batch_per_worker : std::min(limit.failed, *c.batch_per_worker);
    } else if (!c.values.empty()) {
      limit.largest = std::max(limit.largest, *c.batch_per_worker);
    }
  }
  for (const auto& [key, limit] : limits) {
    if (limit.failed == 0) continue;
    findings.push_back(
        {Topic::kMemory,
         fmt::format("{}: b = {} ran out of memory on {}{}.", std::get<0>(key),
                     record::batch_text(limit.failed), place(std::get<1>(key), std::get<2>(key)),
                     limit.largest > 0 ? fmt::format("; the largest batch that was run is b = {}",
                                                     record::batch_text(limit.largest))
                                       : "")});
  }
}

void assess_caution(std::span<const Configuration> configurations, std::vector<Finding>& findings) {
  if (std::any_of(configurations.begin(), configurations.end(),
                  [](const Configuration& c) { return c.unreliable; })) {
    findings.push_back({Topic::kCaution,
                        "Some runs had more threads than cores: their times are unreliable. Run "
                        "them again on enough cores."});
  }
  if (std::string text = disturbed_runs(configurations); !text.empty()) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    findings.push_back({Topic::kCaution, text + "."});
  }
}

void assess_missing(std::span<const Configuration> configurations,
                    std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  const auto missing = [&](std::string sentence) {
    findings.push_back({Topic::kMissing, std::move(sentence)});
  };
  if (groups.empty()) {
    missing("No verdict on time: no epoch_time, throughput, step_time or total_time was measured.");
    return;
  }
  for (const SpeedupGroup& group : groups) {
    for (const auto* sentences : {&group.refusals, &group.remarks}) {
      for (const std::string& sentence : *sentences) {
        missing(fmt::format("{}: {}.", group.title(), sentence));
      }
    }
  }
  // Without a batch the refusal of the group has said why nothing is compared.
  const bool compared = std::any_of(groups.begin(), groups.end(), [](const SpeedupGroup& group) {
    return group.has_speedups() || (group.scaling == Scaling::kUnstated && !group.refusals.empty());
  });
  if (!compared) {
    missing(
        "Which worker count pays off cannot be determined: nothing was measured on two worker "
        "counts at the same batch. Run the same batch on 1 and on 2 workers.");
  }
  const bool repeated = std::any_of(groups.begin(), groups.end(), [](const SpeedupGroup& group) {
    return std::any_of(group.points.begin(), group.points.end(),
                       [](const SpeedupPoint& point) { return point.count > 1; });
  });
  if (!repeated) {
    missing(
        "The spread is unknown: every configuration was measured once. Differences of a few "
        "percent "
        "may be noise; repeat at least three times.");
  }
  const bool validated =
      std::any_of(configurations.begin(), configurations.end(), [](const Configuration& c) {
        return c.value("val_accuracy") || c.value("val_loss") || c.value("accuracy") ||
               c.value("loss");
      });
  if (!validated) {
    missing(
        "Whether accuracy is kept cannot be determined: no val_accuracy or val_loss was measured.");
  }
}

}  // namespace

std::string_view topic_name(Topic topic) {
  constexpr std::array<std::string_view, 8> kNames{"decision",   "caution", "workers", "device",
                                                   "bottleneck", "memory",  "quality", "missing"};
  return kNames[static_cast<std::size_t>(topic)];
}

std::string disturbed_runs(std::span<const Configuration> configurations) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (const Configuration& c : configurations) {
    if (!c.disturbed.empty()) names.push_back(fmt::format("{} ({})", c.label(), c.disturbed));
  }
  if (names.empty()) return "";
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  return fmt::format(
      "other programs ran during these runs, so the times may be too long: {}{}; run them again "
      "on a quiet machine",
      fmt::join(names, "; "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string number_text(double value) {
  const double size = std::fabs(value);
  if (size >= 1000) return format_count(std::llround(value));
  return fmt::format("{:.4g}", value);
}

std::string short_figure(const SpeedupPoint& point, TimeBasis basis) {
  if (basis == TimeBasis::kThroughput) return number_text(point.value);
  if (basis == TimeBasis::kStepTime) return number_text(1000 * point.value) + " ms";
  return number_text(point.value) + " s";
}

std::string figure_text(const SpeedupPoint& point, TimeBasis basis) {
  if (basis == TimeBasis::kThroughput) {
    return short_figure(point, basis) + " " + point.configuration.rate_unit();
  }
  constexpr std::array<const char*, 4> kOf{" per epoch", "", " per step", " in all"};
  return short_figure(point, basis) + kOf[static_cast<std::size_t>(basis)];
}

std::string batch_text(const SpeedupPoint& point, const SpeedupGroup& group) {
  if (group.scaling == Scaling::kMixed) return "mixed batches";
  const SeriesKey key = series_key(point.configuration, group.scaling);
  return key.batch ? key.batch_text() : "batch unknown";
}

std::string devices_text(const Configuration& c) {
  std::string text =
      fmt::format("{} {}", c.workers.value_or(1), c.device.empty() ? "workers" : c.device);
  return c.variant.empty() ? text : text + " (" + c.variant + ")";
}

/// "81 s against 209 s per epoch".
std::string figures_text(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis,
                         const char* joint) {
  return fmt::format("{} {} {}", short_figure(point, basis), joint, figure_text(other, basis));
}

double speed_ratio(const SpeedupPoint& point, const SpeedupPoint& other, TimeBasis basis) {
  const double ratio = point.value / other.value;
  if (basis == TimeBasis::kThroughput) return ratio;
  if (basis != TimeBasis::kStepTime) return 1 / ratio;
  const double work = static_cast<double>(point.configuration.global_batch.value_or(1)) /
                      static_cast<double>(other.configuration.global_batch.value_or(1));
  return work / ratio;
}

std::map<ModelKey, std::vector<const SpeedupGroup*>> by_model(
    std::span<const SpeedupGroup> groups) {
  std::map<ModelKey, std::vector<const SpeedupGroup*>> sorted;
  for (const SpeedupGroup& group : groups) sorted[{group.model, group.dataset}].push_back(&group);
  return sorted;
}

std::vector<Finding> verdict(std::span<const Configuration> configurations,
                             std::span<const SpeedupGroup> groups) {
  std::vector<Finding> findings;
  assess_caution(configurations, findings);
  assess_workers(groups, findings);
  assess_device(groups, findings);
  assess_limit(groups, findings);
  assess_memory(configurations, findings);
  assess_quality(configurations, findings);
  assess_missing(configurations, groups, findings);
  return findings;
}

}  // namespace lockstep::analyze
