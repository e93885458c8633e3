#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/steps/remedy.h"
#include "lockstep/analyze/verdict/verdict_parts.h"

namespace lockstep::analyze {
namespace {

/// Compute of a step that grows by less is called the same.
constexpr double kContention = 0.25;

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
void assess_too_small(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
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

/// "fashion on fashion-mnist, 2 cpu, b = 32, B = 64".
std::string subject(const SpeedupGroup& group, const TimeSplit& split) {
  std::string text = group.model.empty() ? "unnamed model" : group.model;
  if (!group.dataset.empty()) text += " on " + group.dataset;
  return text + ", " + split.configuration.label();
}

std::string split_text(const TimeSplit& split) {
  return fmt::format("{:.0f} % ({} of {} s, {})", 100 * split.communication_share(),
                     number_text(split.communication_s), number_text(split.total_s),
                     split.configuration.label());
}

void assess_derived(const SpeedupGroup& group, const std::vector<TimeSplit>& splits,
                    std::vector<Finding>& findings) {
  auto [least, most] =
      std::minmax_element(splits.begin(), splits.end(), [](const TimeSplit& a, const TimeSplit& b) {
        return a.communication_share() < b.communication_share();
      });
  if (most->communication_s < 0) {
    findings.push_back(
        {Topic::kLimit,
         fmt::format(
             "{}: more workers took less than their share, T(N) < T(1)/N ({} against {} s, "
             "{}): a smaller share may fit in a cache, or more than the worker count changed.",
             group.title(), number_text(most->total_s), number_text(most->compute_s),
             most->configuration.label())});
    return;
  }
  if (most->communication_share() < 0.2) {
    findings.push_back(
        {Topic::kLimit, fmt::format("{}: the work divides well: what does not divide, T(N) - "
                                    "T(1)/N (derived), is at most {}.",
                                    group.title(), split_text(*most))});
    return;
  }
  // A share below zero is not meaningful: see TimeSplit::baseline_off().
  if (least->baseline_off()) least = most;
  std::string text = fmt::format(
      "{}: communication and everything else that does not divide, T(N) - T(1)/N (derived), takes "
      "{}",
      group.title(), split_text(*most));
  if (least != most) text += " at worst";
  if (most->communication_share() >= 0.5) text += ", where it is the bottleneck";
  if (least != most) text += fmt::format(", and {} at best", split_text(*least));
  text += ".";
  findings.push_back({Topic::kLimit, text});
}

constexpr const char* kInput = "input";
constexpr const char* kOther = "other";
constexpr const char* kTransfer = "moving gradients";

/// What could be done about waiting for data, from a share of kInputShare on, or about a transfer
/// that is the limit. One sentence, or none.
std::string remedy_of(const TimeSplit& split, const char* limit) {
  const Seconds step(split.total_s);
  std::string text;
  if (limit == kInput || split.input_s.value_or(0) >= kInputShare * split.total_s) {
    text = input_remedy(step, Seconds(*split.input_s),
                        {.loader_workers = split.configuration.loader_workers});
    if (!text.empty()) text = "Input: " + text;
  } else if (limit == kTransfer) {
    text = transfer_remedy(step, Seconds(*split.transfer_s), Seconds(split.compute_s));
    if (!text.empty()) text[0] = 'W';
  }
  return text.empty() ? "" : text + ".";
}

void assess_measured(const SpeedupGroup& group, const TimeSplit& split,
                     std::vector<Finding>& findings) {
  struct Part {
    const char* name;
    double seconds;
  };
  std::vector<Part> parts{{"compute", split.compute_s},
                          {kInput, split.input_s.value_or(0)},
                          {kOther, split.other_s.value_or(0)}};
  if (split.wait_s && split.transfer_s) {
    parts.push_back({"waiting for the slowest rank", *split.wait_s});
    parts.push_back({kTransfer, *split.transfer_s});
  } else {
    parts.push_back({"exposed communication", split.communication_s});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
  std::string text;
  if (!split.phases_known()) {
    text = fmt::format(
        "{}: what limits it is unknown: the program runs a step ({} ms) as one call, so "
        "its phases could not be measured.",
        subject(group, split), number_text(1000 * split.total_s));
  } else {
    text = fmt::format(
        "{}: {} is the bottleneck with {:.0f} % of a step of {} ms (measured), then {} with "
        "{:.0f} %.",
        subject(group, split), parts[0].name, 100 * parts[0].seconds / split.total_s,
        number_text(1000 * split.total_s), parts[1].name, 100 * parts[1].seconds / split.total_s);
    if (const std::string remedy = remedy_of(split, parts[0].name); !remedy.empty()) {
      text += " " + remedy;
    }
  }
  findings.push_back({Topic::kLimit, std::move(text)});
}

/// Workers that compute the same batch more slowly than one alone share something they compute
/// with.
void assess_contention(const SpeedupGroup& group, const std::vector<TimeSplit>& splits,
                       const TimeSplit& largest, std::vector<Finding>& findings) {
  for (const TimeSplit& alone : splits) {
    if (alone.origin != Origin::kMeasured || !alone.phases_known() ||
        alone.configuration.workers != 1 ||
        alone.configuration.batch_per_worker != largest.configuration.batch_per_worker) {
      continue;
    }
    const double growth = largest.compute_s / alone.compute_s;
    if (growth < 1 + kContention) return;
    findings.push_back(
        {Topic::kLimit,
         fmt::format("{}: computing the same batch takes {:.2f}x as long as on 1 worker ({} "
                     "against {} ms): the workers share cores, caches or memory bandwidth, or "
                     "other programs ran.",
                     subject(group, largest), growth, number_text(1000 * largest.compute_s),
                     number_text(1000 * alone.compute_s))});
    return;
  }
}

const TimeSplit* largest_measured(std::span<const TimeSplit> splits) {
  const TimeSplit* largest = nullptr;
  for (const TimeSplit& split : splits) {
    if (split.origin == Origin::kDerived) continue;
    if (largest == nullptr || split.configuration.workers > largest->configuration.workers) {
      largest = &split;
    }
  }
  return largest;
}

}  // namespace

std::string ranks_apart_sentence(const SpeedupGroup& group) {
  const std::vector<TimeSplit> splits = time_splits(group);
  const TimeSplit* largest = largest_measured(splits);
  if (largest == nullptr || largest->configuration.workers.value_or(1) < 2) return "";
  if (!largest->phases_known() || largest->communication_s > 0) return "";
  return fmt::format(
      "{}: its ranks were not seen to communicate. Unless the program averages gradients in a way "
      "that cannot be measured, each trained a network of its own, and which worker count pays off "
      "does not follow from these runs.",
      subject(group, *largest));
}

bool ranks_trained_apart(const SpeedupGroup& group) {
  return !ranks_apart_sentence(group).empty();
}

void assess_limit(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  for (const SpeedupGroup& group : groups) {
    const std::vector<TimeSplit> splits = time_splits(group);
    std::vector<TimeSplit> derived;
    for (const TimeSplit& split : splits) {
      if (split.origin == Origin::kDerived) derived.push_back(split);
    }
    const TimeSplit* largest = largest_measured(splits);
    if (largest != nullptr) {
      assess_measured(group, *largest, findings);
      assess_contention(group, splits, *largest, findings);
    }
    if (largest == nullptr && !derived.empty()) assess_derived(group, derived, findings);
  }
  assess_too_small(groups, findings);
}

}  // namespace lockstep::analyze
