#include "lockstep/predict/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/device_table.h"
#include "lockstep/predict/odds.h"

namespace lockstep::predict {
namespace {

/// A promise is kept when it holds 9 times of 10.
constexpr double kSure = 0.9;
/// Below this chance of changing the decision a run is not worth its time.
constexpr double kWorthMeasuring = 0.1;

std::vector<double> counts_of(const TableSeries& table, double most) {
  std::set<double> counts;
  for (const ScalingPoint& point : table.series.points) counts.insert(point.workers);
  for (double n = table.series.points.front().workers; n <= most; n *= 2) counts.insert(n);
  std::vector<double> result;
  for (double n : counts) {
    if (n <= most) result.push_back(n);
  }
  return result;
}

double price_of(const AdviceQuestion& question, const std::string& device) {
  if (question.price_per_hour.empty()) return 1;
  const auto found = question.price_per_hour.find(device);
  if (found != question.price_per_hour.end()) return found->second;
  // "t4" is the price of "NVIDIA T4" too.
  const auto known = find_device(device);
  for (const auto& [name, price] : question.price_per_hour) {
    const auto other = find_device(name);
    if (known && other && known->name == other->name) return price;
  }
  throw Error(ErrorKind::kUsage, fmt::format("no price was given for device '{}'", device),
              fmt::format("add --price {}=2.48/h, or leave all prices out", device));
}

double global_batch_of(const TableSeries& table, double workers) {
  if (table.scaling == Scaling::kStrong && table.global_batch) {
    return static_cast<double>(*table.global_batch);
  }
  return table.batch_per_worker.value_or(0) * workers;
}

enum class TimeOf { kTarget, kTotal, kEpoch };

std::optional<Estimate> time_of(TimeOf what, const AdviceQuestion& question,
                                const TableSeries& table, const JobPrediction& job) {
  if (what == TimeOf::kTotal) return job.total_s;
  if (what == TimeOf::kEpoch) return job.epoch_s;
  const double batch = global_batch_of(table, job.scaling.workers);
  if (batch <= 0 || batch >= question.failing_batch.value_or(HUGE_VAL)) return std::nullopt;
  const auto point = time_to_target(job, *question.steps, batch);
  if (!point) return std::nullopt;
  return mapped(point->hours, [](double hours) { return hours * 3600; });
}

JobPrediction job_of(const AdviceQuestion& question, const TableSeries& table, double workers) {
  JobQuestion asked;
  asked.workers = workers;
  asked.epochs = question.epochs;
  asked.examples = question.examples;
  return predict_job(table, asked);
}

/// What all series can be compared by: the whole job of as many epochs, else one epoch of it.
TimeOf comparable(const AdviceQuestion& question, Advice& advice) {
  if (question.steps) {
    advice.time_means = "to the target";
    return TimeOf::kTarget;
  }
  std::set<std::int64_t> epochs;
  for (const TableSeries& table : question.measured) {
    if (table.series.points.empty()) continue;
    const JobPrediction job = job_of(question, table, table.series.points.front().workers);
    epochs.insert(job.total_s ? job.epochs : -1);
  }
  if (question.epochs || (epochs.size() == 1 && *epochs.begin() >= 0)) {
    const std::int64_t count = question.epochs.value_or(epochs.empty() ? 0 : *epochs.begin());
    advice.time_means =
        count > 0 ? fmt::format("{} epoch{}", count, count == 1 ? "" : "s") : "the whole run";
    return TimeOf::kTotal;
  }
  advice.time_means = "one epoch";
  return TimeOf::kEpoch;
}

std::vector<Candidate> make_candidates(const AdviceQuestion& question, TimeOf what) {
  std::vector<Candidate> all;
  for (std::size_t at = 0; at < question.measured.size(); ++at) {
    const TableSeries& table = question.measured[at];
    if (table.series.points.empty()) continue;
    for (const double workers : counts_of(table, question.max_workers)) {
      Candidate one;
      one.series = at;
      one.name = table.name;
      one.device = table.device;
      one.workers = workers;
      one.job = job_of(question, table, workers);
      const std::optional<Estimate> time = time_of(what, question, table, one.job);
      if (!time) continue;
      one.time_s = *time;
      one.measured = what == TimeOf::kTotal   ? one.job.total_measured
                     : what == TimeOf::kEpoch ? one.job.scaling.measured
                                              : false;
      const double price = price_of(question, table.device);
      one.cost = mapped(*time, [&](double s) { return s / 3600 * workers * price; });
      if (question.deadline_s) {
        one.meets_deadline = probability_at_most(one.time_s, *question.deadline_s);
      }
      if (question.budget) one.meets_budget = probability_at_most(one.cost, *question.budget);
      all.push_back(std::move(one));
    }
  }
  return all;
}

void mark_pareto(std::vector<Candidate>& all) {
  for (Candidate& one : all) {
    one.pareto = std::none_of(all.begin(), all.end(), [&](const Candidate& other) {
      const bool no_worse =
          other.time_s.value <= one.time_s.value && other.cost.value <= one.cost.value;
      const bool better =
          other.time_s.value < one.time_s.value || other.cost.value < one.cost.value;
      return no_worse && better;
    });
  }
}

bool feasible(const Candidate& one) {
  return one.meets_deadline >= kSure && one.meets_budget >= kSure;
}

/// What the rule of advise() minimises among the feasible.
double objective(const AdviceQuestion& question, const Candidate& one) {
  if (question.deadline_s) return expected_log(one.cost);
  if (question.budget) return expected_log(one.time_s);
  return expected_log(one.time_s) + expected_log(one.cost);
}

/// By how much the limits are missed 1 time of 10: the largest ratio to a limit.
double excess(const AdviceQuestion& question, const Candidate& one) {
  double ratio = 0;
  if (question.deadline_s) ratio = nine_of_ten(one.time_s) / *question.deadline_s;
  if (question.budget) ratio = std::max(ratio, nine_of_ten(one.cost) / *question.budget);
  return ratio;
}

/// Best by the rule; infeasible ones come after all feasible, the likeliest (to a percent) first,
/// and of those the one that misses the limits by least.
std::vector<std::size_t> ranking(const AdviceQuestion& question,
                                 const std::vector<Candidate>& all) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool feasible_a = feasible(all[a]);
    if (feasible_a != feasible(all[b])) return feasible_a;
    if (!feasible_a) {
      const auto percent = [&](const Candidate& one) {
        return std::lround(100 * one.meets_deadline * one.meets_budget);
      };
      if (percent(all[a]) != percent(all[b])) return percent(all[a]) > percent(all[b]);
      return excess(question, all[a]) < excess(question, all[b]);
    }
    return objective(question, all[a]) < objective(question, all[b]);
  });
  return order;
}

const Candidate* next_larger(const std::vector<Candidate>& all, const Candidate& chosen) {
  const Candidate* found = nullptr;
  for (const Candidate& one : all) {
    if (one.series != chosen.series || one.workers <= chosen.workers) continue;
    if (found == nullptr || one.workers < found->workers) found = &one;
  }
  return found;
}

std::string described(const Advice& advice, const Candidate& one) {
  const bool hours = advice.cost_means == "device-hours";
  return fmt::format("{:g} worker{} of {}: {}, {:.3g}{}", one.workers, one.workers == 1 ? "" : "s",
                     one.name, format_seconds(Seconds(one.time_s.value)), one.cost.value,
                     hours ? " device-hours" : "");
}

void explain_choice(Advice& advice, const AdviceQuestion& question) {
  const Candidate& chosen = advice.candidates[advice.chosen];
  if (!advice.feasible) {
    advice.why.push_back(
        fmt::format("nothing up to {:g} workers keeps {} 9 times of 10; this comes nearest",
                    question.max_workers,
                    question.deadline_s && question.budget ? "deadline and budget"
                    : question.deadline_s                  ? "the deadline"
                                                           : "the budget"));
  } else if (question.deadline_s) {
    advice.why.push_back(fmt::format("the cheapest that keeps the deadline of {} ({:.0f} % sure)",
                                     format_seconds(Seconds(*question.deadline_s)),
                                     100 * chosen.meets_deadline));
  } else if (question.budget) {
    advice.why.push_back(
        fmt::format("the fastest within the budget ({:.0f} % sure)", 100 * chosen.meets_budget));
  } else {
    advice.why.push_back(
        "the least time x cost that is to be expected: more workers are taken while doubling them "
        "is "
        "at least 1.41 times as fast");
  }
  if (!chosen.measured && advice.best_measured && *advice.best_measured != advice.chosen) {
    advice.why.push_back("of the counts that were run, the same rule takes " +
                         described(advice, advice.candidates[*advice.best_measured]));
  }
  const Candidate* larger = next_larger(advice.candidates, chosen);
  if (larger == nullptr) return;
  advice.more_is_slower = probability_above(larger->time_s, chosen.time_s);
  advice.more_workers = larger->workers;
  advice.why.push_back(
      fmt::format("{:g} workers would be {:.2f} times as fast for {:.2f} times the {}",
                  larger->workers, chosen.time_s.value / larger->time_s.value,
                  larger->cost.value / chosen.cost.value, advice.cost_means));
}

/// Equal epochs are equal work, not equal accuracy.
void add_caveats(Advice& advice, const AdviceQuestion& question) {
  if (question.steps) return;
  std::set<double> batches;
  for (const Candidate& one : advice.candidates) {
    batches.insert(global_batch_of(question.measured[one.series], one.workers));
  }
  if (batches.size() < 2) return;
  advice.caveats.push_back(
      "the choices differ in their global batch, and larger ones may need more epochs to the same "
      "accuracy: give --target to count them");
}

/// The cheapest of those that are surer to be in time than the choice; nothing when none is.
const Candidate* surer_in_time(const Advice& advice, const Candidate& chosen) {
  const Candidate* found = nullptr;
  for (const Candidate& one : advice.candidates) {
    if (nine_of_ten(one.time_s) >= nine_of_ten(chosen.time_s)) continue;
    if (found == nullptr || one.cost.value < found->cost.value) found = &one;
  }
  return found;
}

/// The fastest of those that are surer to be cheap than the choice.
const Candidate* surer_in_cost(const Advice& advice, const Candidate& chosen) {
  const Candidate* found = nullptr;
  for (const Candidate& one : advice.candidates) {
    if (nine_of_ten(one.cost) >= nine_of_ten(chosen.cost)) continue;
    if (found == nullptr || one.time_s.value < found->time_s.value) found = &one;
  }
  return found;
}

/// Limits at which another candidate would be chosen.
void say_what_would_change(Advice& advice, const AdviceQuestion& question) {
  const Candidate& chosen = advice.candidates[advice.chosen];
  if (!advice.feasible) return;
  const std::string sure_time = format_seconds(Seconds(nine_of_ten(chosen.time_s)));
  if (const Candidate* one = surer_in_time(advice, chosen); one != nullptr) {
    advice.would_change.push_back(
        fmt::format("a deadline below {} would need {}", sure_time, described(advice, *one)));
  } else if (question.deadline_s) {
    advice.would_change.push_back(
        fmt::format("a deadline below {} would be kept by nothing 9 times of 10", sure_time));
  }
  if (question.deadline_s) {
    const Candidate* cheaper = nullptr;
    for (const Candidate& one : advice.candidates) {
      if (one.cost.value >= 0.95 * chosen.cost.value) continue;
      if (cheaper == nullptr || nine_of_ten(one.time_s) < nine_of_ten(cheaper->time_s)) {
        cheaper = &one;
      }
    }
    if (cheaper != nullptr) {
      advice.would_change.push_back(fmt::format(
          "a deadline of {} would allow {}", format_seconds(Seconds(nine_of_ten(cheaper->time_s))),
          described(advice, *cheaper)));
    }
  } else if (const Candidate* one = surer_in_cost(advice, chosen); one != nullptr) {
    advice.would_change.push_back(fmt::format("a budget below {:.3g} would mean {}",
                                              nine_of_ten(chosen.cost), described(advice, *one)));
  }
  const Candidate* larger = next_larger(advice.candidates, chosen);
  if (larger != nullptr && !question.deadline_s && !question.budget) {
    const double needed = chosen.time_s.value * std::sqrt(chosen.workers / larger->workers);
    if (larger->time_s.low < needed) {
      advice.would_change.push_back(
          fmt::format("{:g} workers would be right if they took {} or less", larger->workers,
                      format_seconds(Seconds(needed))));
    }
  }
}

/// Chance that measuring `one` would make it the choice, or unmake it if it is.
double chance_of_change(const AdviceQuestion& question, const Advice& advice,
                        const Candidate& one) {
  const Candidate& chosen = advice.candidates[advice.chosen];
  const bool itself = &one == &chosen;
  // Where nothing is sure to keep the limits, a run that shows that something does.
  if (!advice.feasible) return one.meets_deadline * one.meets_budget;
  if (question.deadline_s) {
    if (itself) return 1 - one.meets_deadline;
    return one.cost.value < chosen.cost.value && !feasible(one) ? one.meets_deadline : 0;
  }
  if (question.budget) {
    if (itself) return 1 - one.meets_budget;
    return one.time_s.value < chosen.time_s.value && !feasible(one) ? one.meets_budget : 0;
  }
  const Candidate& rival =
      itself && advice.next_best ? advice.candidates[*advice.next_best] : chosen;
  if (itself && !advice.next_best) return 0;
  const double spread = std::hypot(log_deviation(one.time_s), log_deviation(rival.time_s));
  const double lead = objective(question, rival) - objective(question, one);
  // time x cost moves with the square of the time.
  const double better = normal_below(lead / std::max(2 * spread, 1e-9));
  return itself ? 1 - better : better;
}

std::optional<NextRun> find_next(const AdviceQuestion& question, const Advice& advice) {
  const Candidate* best = nullptr;
  double most = 0;
  for (const Candidate& one : advice.candidates) {
    if (one.job.scaling.measured || one.workers > question.room.value_or(HUGE_VAL)) continue;
    const double chance = chance_of_change(question, advice, one);
    // Of runs that tell about as much, the cheaper one.
    const bool cheaper = best != nullptr && chance > 0.8 * most && one.workers < best->workers;
    const bool better = best == nullptr || chance * 0.8 > most || cheaper;
    if (chance < kWorthMeasuring || !better) continue;
    best = &one;
    most = std::max(most, chance);
  }
  if (best == nullptr) return std::nullopt;
  return NextRun{best->series,      best->name,
                 best->workers,     chance_of_change(question, advice, *best),
                 best->job.epoch_s, best->time_s};
}

/// Throws when all that was measured is larger than what may be used.
void check_smallest_counts(const AdviceQuestion& question) {
  double smallest = 0;
  for (const TableSeries& table : question.measured) {
    if (table.series.points.empty()) continue;
    const double workers = table.series.points.front().workers;
    smallest = smallest > 0 ? std::min(smallest, workers) : workers;
  }
  if (smallest <= question.max_workers) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("nothing to choose from: the smallest measured count is {:g} workers, "
                          "and at most {:g} may be used",
                          smallest, question.max_workers),
              fmt::format("run fewer workers, or raise --max-workers to {:g}", smallest));
}

}  // namespace

Advice advise(const AdviceQuestion& question) {
  Advice advice;
  advice.cost_means = question.price_per_hour.empty() ? "device-hours" : "cost";
  advice.candidates = make_candidates(question, comparable(question, advice));
  if (advice.candidates.empty()) {
    check_smallest_counts(question);
    throw Error(ErrorKind::kData, "nothing to choose from: no time of a whole job is known",
                "give --epochs and --examples, or measure epoch_time");
  }
  mark_pareto(advice.candidates);
  std::stable_sort(
      advice.candidates.begin(), advice.candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.time_s.value < b.time_s.value; });
  const std::vector<std::size_t> order = ranking(question, advice.candidates);
  advice.chosen = order.front();
  if (order.size() > 1) advice.next_best = order[1];
  const auto run = std::find_if(order.begin(), order.end(), [&](std::size_t i) {
    return advice.candidates[i].job.scaling.measured;
  });
  if (run != order.end()) advice.best_measured = *run;
  advice.feasible = feasible(advice.candidates[advice.chosen]);
  explain_choice(advice, question);
  say_what_would_change(advice, question);
  add_caveats(advice, question);
  advice.next = find_next(question, advice);
  return advice;
}

}  // namespace lockstep::predict
