#include "lockstep/advise/next_run.h"

#include <algorithm>
#include <cmath>

#include "lockstep/predict/odds.h"

namespace lockstep::advise {
namespace {

/// Below this chance of changing the choice a run is not worth its time.
constexpr double kWorthMeasuring = 0.1;

const Candidate* at_count(const std::vector<Candidate>& all, std::size_t series, double workers) {
  for (const Candidate& one : all) {
    if (one.series == series && one.workers == workers) return &one;
  }
  return nullptr;
}

/// Chance that a count that was not run turns out to pay and to have less time x cost than the
/// choice. Only the step from the series' paying count can still pay; one beyond a measured count
/// that does not pay cannot.
double chance_to_be_chosen(const std::vector<Candidate>& all, const PayingCount& paying,
                           const Candidate& chosen, const Candidate& one) {
  if (one.workers <= paying.workers || one.workers >= paying.next.value_or(HUGE_VAL)) return 0;
  const Candidate* below = at_count(all, one.series, paying.workers);
  if (below == nullptr) return 0;
  const double more = one.workers / below->workers;
  const double pays_s = below->time_s.value / (1 + analyze::kPayingShare * (more - 1));
  // Both time and cost are proportional to the time.
  const double product = one.time_s.value * one.cost.value;
  const double better_s =
      one.time_s.value * std::sqrt(chosen.time_s.value * chosen.cost.value / product);
  return predict::probability_at_most(one.time_s, std::min(pays_s, better_s));
}

double chance_of_change(const std::vector<Candidate>& all, const std::vector<PayingCount>& paying,
                        const Choice& choice, const Terms& terms, const Candidate& one) {
  const Candidate& chosen = all[choice.at];
  const bool itself = &one == &chosen;
  // Where nothing is sure to keep the limits, a run that shows that something does.
  if (!choice.feasible) return one.meets_deadline * one.meets_budget;
  if (terms.deadline_s) {
    if (itself) return 1 - one.meets_deadline;
    return one.cost.value < chosen.cost.value && !one.feasible() ? one.meets_deadline : 0;
  }
  if (terms.budget) {
    if (itself) return 1 - one.meets_budget;
    return one.time_s.value < chosen.time_s.value && !one.feasible() ? one.meets_budget : 0;
  }
  return itself ? 0 : chance_to_be_chosen(all, paying[one.series], chosen, one);
}

}  // namespace

std::optional<NextRun> next_run(const std::vector<Candidate>& candidates,
                                const std::vector<PayingCount>& paying, const Choice& choice,
                                const LearnedQuality& quality, const Terms& terms) {
  const Candidate* best = nullptr;
  double most = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& one = candidates[i];
    if (one.was_run() || !one.fits) continue;
    if (sign_of_less(quality, candidates, i, choice.at)) continue;
    const double chance = chance_of_change(candidates, paying, choice, terms, one);
    const bool cheaper = best != nullptr && chance > 0.8 * most && one.workers < best->workers;
    const bool better = best == nullptr || chance * 0.8 > most || cheaper;
    if (chance < kWorthMeasuring || !better) continue;
    best = &one;
    most = std::max(most, chance);
  }
  if (best == nullptr) return std::nullopt;
  return NextRun{best->series, best->workers,
                 chance_of_change(candidates, paying, choice, terms, *best), best->job.epoch_s,
                 best->time_s};
}

}  // namespace lockstep::advise
