#include "lockstep/advise/choice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/analyze/series.h"
#include "lockstep/base/error.h"
#include "lockstep/predict/odds.h"

namespace lockstep::advise {
namespace {

using predict::TableSeries;
using Indices = std::vector<std::size_t>;

/// The measured counts of a series with a time each, ascending.
std::map<double, double> run_times(const std::vector<Candidate>& candidates, std::size_t series) {
  std::map<double, double> times;
  for (const Candidate& one : candidates) {
    if (one.series == series && one.was_run()) times[one.workers] = one.time_s.value;
  }
  return times;
}

double gain_share(double few, double few_s, double many, double many_s) {
  return (few_s / many_s - 1) / (many / few - 1);
}

PayingCount paying_by_times(const std::map<double, double>& times) {
  PayingCount paying;
  if (times.empty()) return paying;
  paying.only_one = times.size() == 1;
  auto at = times.begin();
  for (auto next = std::next(at); next != times.end(); at = next++) {
    const double share = gain_share(at->first, at->second, next->first, next->second);
    if (share >= analyze::kPayingShare) continue;
    paying.next = next->first;
    paying.share = share;
    break;
  }
  paying.workers = at->first;
  return paying;
}

/// By the verdict's own series; nothing if it has none for this one.
std::optional<PayingCount> paying_by_verdict(const TableSeries& series,
                                             std::span<const analyze::SpeedupGroup> groups) {
  for (const analyze::SpeedupGroup& group : groups) {
    for (const analyze::PointSeries& points : analyze::series_of(group)) {
      if (analyze::series_key(group, *points.front()) != series.key) continue;
      PayingCount paying;
      const std::size_t at = analyze::paying_index(points, group.basis);
      const auto count = [&](std::size_t i) {
        return static_cast<double>(*points[i]->configuration.workers);
      };
      paying.workers = count(at);
      if (at + 1 < points.size()) {
        paying.next = count(at + 1);
        paying.share = (analyze::speed_ratio(*points[at + 1], *points[at], group.basis) - 1) /
                       (count(at + 1) / count(at) - 1);
        if (analyze::is_disturbed_gain(*points[at], *points[at + 1], group.basis)) {
          paying.disturbed = points[at]->configuration.disturbed;
        }
      }
      return paying;
    }
  }
  return std::nullopt;
}

double product(const Candidate& one) {
  return one.time_s.value * one.cost.value;
}

std::optional<std::size_t> least_product(const std::vector<Candidate>& all, const Indices& among) {
  const auto least = std::min_element(
      among.begin(), among.end(),
      [&](std::size_t a, std::size_t b) { return product(all[a]) < product(all[b]); });
  return least == among.end() ? std::nullopt : std::optional(*least);
}

/// Those that learned as well as the best among them, and those of which that is not known.
Indices that_learned(const LearnedQuality& quality, Indices among) {
  if (const std::optional<std::size_t> best = quality.best(among)) {
    std::erase_if(among, [&](std::size_t i) { return quality.less(i, *best); });
  }
  return among;
}

template <class Wanted>
Indices indices_of(const std::vector<Candidate>& all, Wanted wanted) {
  Indices found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted(i, all[i])) found.push_back(i);
  }
  return found;
}

Choice choose_freely(const std::vector<Candidate>& all, const std::vector<PayingCount>& paying,
                     const LearnedQuality& quality) {
  Indices eligible = indices_of(all, [&](std::size_t, const Candidate& one) {
    return one.was_run() && one.workers == paying[one.series].workers;
  });
  if (eligible.empty()) {
    eligible = indices_of(all, [](std::size_t, const Candidate& one) { return one.was_run(); });
  }
  if (eligible.empty()) eligible = indices_of(all, [](auto, const auto&) { return true; });
  Choice choice;
  Indices learned = that_learned(quality, eligible);
  choice.at = *least_product(all, learned);
  if (const auto alone = least_product(all, eligible); *alone != choice.at) {
    choice.passed_over = alone;
  }
  std::erase(learned, choice.at);
  choice.next_best = least_product(all, learned);
  return choice;
}

/// The figure that is to be least; without one, the candidate is not considered.
std::optional<double> objective_of(const Candidate& one, Objective objective) {
  if (objective == Objective::kTime) return one.time_s.value;
  if (objective == Objective::kCost) return one.cost.value;
  return one.energy_j;
}

/// What was run, least first; those that learned less than the best come last.
Choice choose_least(const std::vector<Candidate>& all, const LearnedQuality& quality,
                    const Terms& terms) {
  Indices eligible = indices_of(all, [&](std::size_t, const Candidate& one) {
    return one.was_run() && objective_of(one, terms.objective);
  });
  if (eligible.empty()) {
    throw Error(ErrorKind::kData,
                terms.objective == Objective::kEnergy
                    ? "no energy was measured, so --objective energy cannot be used"
                    : "no run was measured, so --objective cannot be used",
                "lockstep runs show RUN shows why; omit --objective");
  }
  const auto by_objective = [&](std::size_t a, std::size_t b) {
    return *objective_of(all[a], terms.objective) < *objective_of(all[b], terms.objective);
  };
  std::stable_sort(eligible.begin(), eligible.end(), by_objective);
  const Indices learned = that_learned(quality, eligible);
  Indices kept;
  for (const std::size_t at : learned) {
    if (!terms.limited() || all[at].feasible()) kept.push_back(at);
  }
  Choice choice;
  choice.feasible = !kept.empty();
  if (kept.empty()) kept = learned;
  choice.at = kept.front();
  if (eligible.front() != choice.at && !terms.limited()) choice.passed_over = eligible.front();
  if (kept.size() > 1) choice.next_best = kept[1];
  return choice;
}

/// By how much the limits are missed 1 time of 10: the largest ratio to a limit.
double excess(const Terms& terms, const Candidate& one) {
  double ratio = 0;
  if (terms.deadline_s) ratio = predict::nine_of_ten(one.time_s) / *terms.deadline_s;
  if (terms.budget) ratio = std::max(ratio, predict::nine_of_ten(one.cost) / *terms.budget);
  return ratio;
}

/// What keeps the limits in order of preference: pools as choose() lists them, the cheapest of each
/// for a deadline, the fastest for a budget.
Indices within_limits(const std::vector<Candidate>& all, const LearnedQuality& quality,
                      const Terms& terms) {
  Indices found = indices_of(all, [](std::size_t, const Candidate& one) { return one.feasible(); });
  const std::optional<std::size_t> best = quality.best(found);
  const auto pool = [&](std::size_t i) {
    const Candidate& one = all[i];
    const bool less = best && sign_of_less(quality, all, i, *best).has_value();
    if (one.was_run()) return less ? 2 : 0;
    return !one.fits ? 3 : less ? 2 : 1;
  };
  const auto objective = [&](std::size_t i) {
    return predict::expected_log(terms.deadline_s ? all[i].cost : all[i].time_s);
  };
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(pool(a), objective(a)) < std::pair(pool(b), objective(b));
  });
  return found;
}

/// Where nothing keeps the limits: the likeliest (to a percent), and of those what misses by least.
Indices nearest_to_limits(const std::vector<Candidate>& all, const Terms& terms) {
  Indices found = indices_of(all, [](auto, const auto&) { return true; });
  const auto rank = [&](std::size_t i) {
    const Candidate& one = all[i];
    const long unlikely = 100 - std::lround(100 * one.meets_deadline * one.meets_budget);
    return std::pair(unlikely, excess(terms, one));
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return found;
}

}  // namespace

std::vector<PayingCount> paying_counts(const std::vector<TableSeries>& series,
                                       const std::vector<Candidate>& candidates,
                                       std::span<const analyze::SpeedupGroup> groups,
                                       bool to_target) {
  std::vector<PayingCount> result;
  for (std::size_t at = 0; at < series.size(); ++at) {
    std::optional<PayingCount> paying;
    if (!to_target) paying = paying_by_verdict(series[at], groups);
    result.push_back(paying ? *paying : paying_by_times(run_times(candidates, at)));
  }
  return result;
}

Choice choose(const std::vector<Candidate>& candidates, const std::vector<PayingCount>& paying,
              const LearnedQuality& quality, const Terms& terms) {
  if (terms.objective != Objective::kBalanced) return choose_least(candidates, quality, terms);
  if (!terms.limited()) return choose_freely(candidates, paying, quality);
  Indices order = within_limits(candidates, quality, terms);
  Choice choice;
  choice.feasible = !order.empty();
  if (order.empty()) order = nearest_to_limits(candidates, terms);
  choice.at = order.front();
  if (order.size() > 1) choice.next_best = order[1];
  return choice;
}

}  // namespace lockstep::advise
