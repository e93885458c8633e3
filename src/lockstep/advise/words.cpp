#include "lockstep/advise/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/base/units.h"
#include "lockstep/predict/odds.h"

namespace lockstep::advise {
namespace {

std::string seconds_text(double seconds) {
  return format_seconds(Seconds(seconds));
}

std::string workers_text(double workers) {
  return counted(std::llround(workers), "worker");
}

std::string origin(const Candidate& one) {
  if (one.origin == Origin::kDerived) return "derived from measured times";
  return std::string(origin_name(one.origin));
}

/// The part of a time of whole runs that is start-up and validation; nothing where the time is not
/// one of whole runs.
std::optional<double> outside_epochs(const Candidate& one) {
  const predict::JobPrediction& job = one.job;
  if (!job.total_s || !job.epoch_s || job.epochs <= 0) return std::nullopt;
  if (one.time_s.value != job.total_s->value) return std::nullopt;
  return one.time_s.value - static_cast<double>(job.epochs) * job.epoch_s->value;
}

/// ", 42.6 s of it outside the epochs" where that is most of the time; otherwise "".
std::string overhead_text(const Candidate& one) {
  const double outside_s = outside_epochs(one).value_or(0);
  if (outside_s <= 0.5 * one.time_s.value) return "";
  return fmt::format(", {} of it outside the epochs", seconds_text(outside_s));
}

/// ", validation accuracy 0.9008"; "" where it is not known.
std::string learned_text(const JobAdvice& job, std::size_t at) {
  const std::string text = job.quality.text(at);
  return text.empty() ? "" : ", " + text;
}

/// "4 would be 1.29x as fast for 1.55x the device-hours", for the next larger count of the series.
std::string beyond(const JobAdvice& job) {
  const Candidate& chosen = job.chosen();
  const Candidate* larger = next_larger(job);
  if (larger == nullptr) return "";
  const double gain = chosen.time_s.value / larger->time_s.value;
  std::string how = larger->origin == chosen.origin ? "" : ", " + origin(*larger);
  if (gain < 1) {
    return fmt::format("{:g} would be slower ({}{})", larger->workers,
                       seconds_text(larger->time_s.value), how);
  }
  if (!larger->fits) how += fmt::format(", but the host has room for {:g}", *job.room);
  return fmt::format("{:g} would be {:.2f}x as fast for {:.2f}x the {}{}", larger->workers, gain,
                     larger->cost.value / chosen.cost.value, job.cost_means, how);
}

std::string limits_text(const Terms& terms) {
  if (terms.deadline_s && terms.budget) return "deadline and budget";
  return terms.deadline_s ? "the deadline" : "the budget";
}

/// Why the count of the chosen series is the one that pays.
std::string paying_reason(const JobAdvice& job) {
  const Candidate& chosen = job.chosen();
  const PayingCount& paying = job.paying[chosen.series];
  if (!chosen.was_run() || paying.workers != chosen.workers) {
    return "the lowest time x cost of all comparable choices";
  }
  if (paying.only_one) return "the only measured count with these settings";
  const double least = 100 * analyze::kPayingShare;
  if (!paying.next) {
    return fmt::format("each step up to {} gave at least {:.0f} % of the ideal gain",
                       workers_text(chosen.workers), least);
  }
  if (!paying.disturbed.empty()) {
    return fmt::format(
        "the step to {} gave more than the ideal gain, but other programs ran during the run on {} "
        "({}): measure it again on a quiet machine",
        workers_text(*paying.next), workers_text(chosen.workers), paying.disturbed);
  }
  if (*paying.share < 0) {
    return fmt::format("the step to {} made the run slower", workers_text(*paying.next));
  }
  return fmt::format(
      "the step to {} gave {:.0f} % of the ideal gain; below {:.0f} % it does not pay off",
      workers_text(*paying.next), 100 * *paying.share, least);
}

std::string objective_reason(const JobAdvice& job, const Terms& terms) {
  const char* least = terms.objective == Objective::kTime   ? "time"
                      : terms.objective == Objective::kCost ? "cost"
                                                            : "energy";
  std::string text = fmt::format("the least {} of the measured counts", least);
  if (terms.limited()) text += " that meet " + limits_text(terms);
  if (!job.quality.metric.empty()) {
    text += terms.limited() ? " and" : " that";
    text += " learned as well as the best";
  }
  return text;
}

/// What the choice uses, in joules, Wh and CO2.
std::string energy_text(double joules, const Terms& terms) {
  std::string text = fmt::format("{:.3g} kJ ({:.3g} Wh)", joules / 1e3, joules / 3600);
  if (terms.carbon_g_per_kwh) {
    text += fmt::format(", {:.3g} g CO2", joules / 3.6e6 * *terms.carbon_g_per_kwh);
  }
  return text;
}

void add_reasons(JobAdvice& job, const Terms& terms) {
  const Candidate& chosen = job.chosen();
  auto& why = job.why;
  if (chosen.energy_j) {
    why.push_back(fmt::format("it uses {} for {}, based on the mean power of the measured runs",
                              energy_text(*chosen.energy_j, terms), job.time_means));
  } else if (terms.carbon_g_per_kwh) {
    why.push_back("its energy, and so its CO2, is unknown: none was measured with this count");
  }
  if (job.choice.feasible && terms.objective != Objective::kBalanced) {
    why.push_back(objective_reason(job, terms));
  } else if (!job.choice.feasible) {
    why.push_back(fmt::format("no choice meets {} with 90 % probability; this comes closest",
                              limits_text(terms)));
  } else if (terms.deadline_s) {
    why.push_back(fmt::format("the cheapest{} that meets the deadline of {} (probability {:.0f} %)",
                              chosen.was_run() ? " of the measured counts" : "",
                              seconds_text(*terms.deadline_s), 100 * chosen.meets_deadline));
  } else if (terms.budget) {
    why.push_back(fmt::format("the fastest{} within the budget (probability {:.0f} %)",
                              chosen.was_run() ? " of the measured counts" : "",
                              100 * chosen.meets_budget));
  } else {
    why.push_back(paying_reason(job));
    if (job.series.size() > 1) {
      why.push_back(fmt::format(
          "of {} series, each at the count that pays off, it has the lowest time x cost{}",
          job.series.size(),
          job.quality.metric.empty() ? "" : " among those that learned as well as the best"));
    }
  }
  if (terms.limited() && job.choice.feasible && !chosen.was_run()) {
    why.push_back("no measured count meets " + limits_text(terms));
  }
  if (!chosen.fits) {
    why.push_back(
        fmt::format("the host of these runs has room for {:g} workers: this needs a "
                    "larger one",
                    *job.room));
  }
}

bool learns_less(const JobAdvice& job, std::size_t at) {
  return sign_of_less(job.quality, job.candidates, at, job.choice.at).has_value();
}

/// Choices to consider beside the one of the headline.
struct Others {
  std::optional<std::size_t> faster;     ///< the cheapest of those
  std::optional<std::size_t> cheaper;    ///< the fastest of those
  std::optional<std::size_t> learned;    ///< the best, where that is better than the choice
  std::optional<std::size_t> predicted;  ///< the least time x cost, where that was not run
};

Others others_of(const JobAdvice& job) {
  const auto& all = job.candidates;
  const Candidate& chosen = job.chosen();
  Others found;
  std::optional<std::size_t> least;
  const auto product = [&](std::size_t i) { return all[i].time_s.value * all[i].cost.value; };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (learns_less(job, i)) continue;
    if (!least || product(i) < product(*least)) least = i;
    const double time = all[i].time_s.value / chosen.time_s.value;
    const double cost = all[i].cost.value / chosen.cost.value;
    auto& [faster, cheaper, learned, predicted] = found;
    if (time < 0.95 && (!faster || all[i].cost.value < all[*faster].cost.value)) faster = i;
    if (cost < 0.95 && (!cheaper || all[i].time_s.value < all[*cheaper].time_s.value)) cheaper = i;
  }
  if (least && !all[*least].was_run() && *least != job.choice.at) found.predicted = least;
  const std::optional<std::size_t> best = job.quality.best();
  if (best && job.quality.less(job.choice.at, *best)) found.learned = best;
  return found;
}

std::string described_prediction(const JobAdvice& job, std::size_t at) {
  const Candidate& one = job.candidates[at];
  return fmt::format("{} ({} to {}); measure it before relying on it", described(job, at),
                     seconds_text(one.time_s.low), seconds_text(one.time_s.high));
}

void add_alternatives(JobAdvice& job) {
  auto& texts = job.alternatives;
  if (job.choice.passed_over) {
    texts.push_back("Lower time x cost, but it learned less in the same number of epochs: " +
                    described(job, *job.choice.passed_over));
  }
  const auto [faster, cheaper, learned, predicted] = others_of(job);
  if (faster && faster == cheaper) {
    texts.push_back("Perhaps faster and cheaper: " + described(job, *faster));
  } else {
    const char* better = learned && learned == cheaper ? " or learn better" : "";
    if (faster && faster == predicted) {
      texts.push_back("If it has to be faster: " + described_prediction(job, *faster));
    } else if (faster) {
      texts.push_back("If it has to be faster: " + described(job, *faster));
    }
    if (cheaper) {
      texts.push_back(
          fmt::format("If it has to be cheaper{}: {}", better, described(job, *cheaper)));
    }
  }
  if (learned && learned != cheaper && learned != faster) {
    texts.push_back("If it has to learn better: " + described(job, *learned));
  }
  if (predicted && (predicted != faster || faster == cheaper)) {
    texts.push_back("What the prediction favours: " + described_prediction(job, *predicted));
  }
  for (std::string& text : texts) text += ".";
}

/// The measured count below the choice that took less time in all, because start-up and validation
/// outweigh the epochs of short runs.
const Candidate* faster_with_fewer(const JobAdvice& job) {
  const Candidate& chosen = job.chosen();
  if (overhead_text(chosen).empty()) return nullptr;
  for (const Candidate& one : job.candidates) {
    const bool fewer = one.series == chosen.series && one.workers < chosen.workers;
    if (fewer && one.measured() && one.time_s.value < chosen.time_s.value) return &one;
  }
  return nullptr;
}

void add_caveats(JobAdvice& job, const Terms& terms) {
  if (terms.steps) return;
  if (const Candidate* fewer = faster_with_fewer(job); fewer != nullptr && !terms.limited()) {
    job.caveats.push_back(fmt::format(
        "{} took less time in total ({}), but more per epoch: start-up and validation outweigh the "
        "epochs of such short runs; for a job of N epochs, use lockstep advise --epochs N",
        workers_text(fewer->workers), seconds_text(fewer->time_s.value)));
  }
  // Equal epochs are equal work, not equal accuracy.
  std::set<double> batches;
  for (const Candidate& one : job.candidates) {
    batches.insert(predict::global_batch(job.series[one.series], one.workers).value_or(0));
  }
  if (batches.size() < 2) return;
  job.caveats.push_back(
      "the choices differ in their global batch, and larger ones may need more epochs to reach the "
      "same accuracy; lockstep advise --target accounts for that");
}

}  // namespace

/// "0.0062 device-hours" or, in the currency of the prices, "cost 0.842".
static std::string cost_text(const JobAdvice& job, const Candidate& one) {
  return job.cost_means == "cost" ? fmt::format("cost {:.3g}", one.cost.value)
                                  : fmt::format("{:.3g} {}", one.cost.value, job.cost_means);
}

std::string described(const JobAdvice& job, std::size_t at) {
  const Candidate& one = job.candidates[at];
  std::string text = fmt::format("{}{}: {}, {}, {}", workers_text(one.workers),
                                 job.labels.size() > 1 ? ", " + job.labels[one.series] : "",
                                 seconds_text(one.time_s.value), cost_text(job, one), origin(one));
  if (!one.fits) text += fmt::format(", on a host with room for {:g}", one.workers);
  return text + learned_text(job, at);
}

const Candidate* next_larger(const JobAdvice& job) {
  const Candidate& chosen = job.chosen();
  const Candidate* found = nullptr;
  for (const Candidate& one : job.candidates) {
    if (one.series != chosen.series || one.workers <= chosen.workers) continue;
    if (found == nullptr || one.workers < found->workers) found = &one;
  }
  return found;
}

void explain(JobAdvice& job, const Terms& terms) {
  add_reasons(job, terms);
  add_alternatives(job);
  add_what_would_change(job, terms);
  add_caveats(job, terms);
  if (const Candidate* larger = next_larger(job); larger != nullptr) {
    job.more_is_slower = predict::probability_above(larger->time_s, job.chosen().time_s);
    job.more_workers = larger->workers;
  }
}

std::string JobAdvice::sentence() const {
  const Candidate& one = chosen();
  std::string text =
      fmt::format("{} {}{}: {} {}{} ({}{}), {}",
                  choice.feasible ? "Use" : "No choice is sure to stay within the limits; closest:",
                  workers_text(one.workers), labels.size() > 1 ? ", " + labels[one.series] : "",
                  seconds_text(one.time_s.value), time_means == "to the target" ? "" : "for ",
                  time_means, origin(one), overhead_text(one), cost_text(*this, one));
  text += learned_text(*this, choice.at);
  const std::string more = choice.feasible ? beyond(*this) : "";
  return text + (more.empty() ? "" : "; " + more) + ".";
}

std::string JobAdvice::sentence_of(std::size_t jobs) const {
  return jobs > 1 ? fmt::format("{}: {}", job, sentence()) : sentence();
}

}  // namespace lockstep::advise
