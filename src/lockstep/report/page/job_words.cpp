#include "lockstep/report/page/job_words.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/base/units.h"

namespace lockstep::report {
namespace {

using predict::Candidate;

std::string origin(const Candidate& one) {
  return one.measured ? "measured" : "predicted";
}

bool has_room(const JobAdvice& job, const Candidate& one) {
  return one.workers <= job.room.value_or(HUGE_VAL);
}

/// "4 would be 1.29x as fast for 1.55x the device-hours", for the next larger count of the series.
std::string beyond(const JobAdvice& job) {
  const Candidate& chosen = job.chosen();
  const Candidate* larger = nullptr;
  for (const Candidate& one : job.advice.candidates) {
    if (one.series != chosen.series || one.workers <= chosen.workers) continue;
    if (larger == nullptr || one.workers < larger->workers) larger = &one;
  }
  if (larger == nullptr) return "";
  const double gain = chosen.time_s.value / larger->time_s.value;
  std::string how = larger->measured == chosen.measured ? "" : ", " + origin(*larger);
  if (gain < 1) {
    return fmt::format("{:g} would be slower ({}{})", larger->workers,
                       format_seconds(Seconds(larger->time_s.value)), how);
  }
  if (!has_room(job, *larger)) how += fmt::format(", but the host has room for {:g}", *job.room);
  return fmt::format("{:g} would be {:.2f}x as fast for {:.2f}x the {}{}", larger->workers, gain,
                     larger->cost.value / chosen.cost.value, job.advice.cost_means, how);
}

/// ", validation accuracy 0.9008"; "" where it is not known.
std::string learned_text(const JobAdvice& job, std::size_t at) {
  const std::string text = job.quality.text(at);
  return text.empty() ? "" : ", " + text;
}

/// "8 workers, B = 512: 7.29 s, 0.0162 device-hours, predicted".
std::string described(const JobAdvice& job, std::size_t at) {
  const Candidate& one = job.advice.candidates[at];
  std::string text =
      fmt::format("{:g} worker{}, {}: {}, {:.3g} {}, {}", one.workers, one.workers == 1 ? "" : "s",
                  job.labels[one.series], format_seconds(Seconds(one.time_s.value)), one.cost.value,
                  job.advice.cost_means, origin(one));
  if (!has_room(job, one)) text += fmt::format(", on a host that has room for {:g}", one.workers);
  return text + learned_text(job, at);
}

bool learns_less(const JobAdvice& job, std::size_t at) {
  return sign_of_less(job.quality, job.advice.candidates, at, job.at).has_value();
}

/// Choices to consider beside the one of the headline.
struct Others {
  std::optional<std::size_t> faster;   ///< the cheapest of those
  std::optional<std::size_t> cheaper;  ///< the fastest of those
  std::optional<std::size_t> learned;  ///< the best, where that is better than the choice
};

Others others_of(const JobAdvice& job) {
  const auto& all = job.advice.candidates;
  const Candidate& chosen = job.chosen();
  Others found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (learns_less(job, i)) continue;
    const double time = all[i].time_s.value / chosen.time_s.value;
    const double cost = all[i].cost.value / chosen.cost.value;
    auto& [faster, cheaper, learned] = found;
    if (time < 0.95 && (!faster || all[i].cost.value < all[*faster].cost.value)) faster = i;
    if (cost < 0.95 && (!cheaper || all[i].time_s.value < all[*cheaper].time_s.value)) cheaper = i;
  }
  const std::optional<std::size_t> best = job.quality.best();
  if (best && job.quality.less(job.at, *best)) found.learned = best;
  return found;
}

void add_others(const JobAdvice& job, std::vector<std::string>& reasons) {
  const auto [faster, cheaper, learned] = others_of(job);
  if (faster && faster == cheaper) {
    reasons.push_back("Perhaps faster and cheaper: " + described(job, *faster));
  } else {
    const char* better = learned && learned == cheaper ? " or learn better" : "";
    if (faster) reasons.push_back("If it has to be faster: " + described(job, *faster));
    if (cheaper) {
      reasons.push_back(
          fmt::format("If it has to be cheaper{}: {}", better, described(job, *cheaper)));
    }
  }
  if (learned && learned != cheaper && learned != faster) {
    reasons.push_back("If it has to learn better: " + described(job, *learned));
  }
}

}  // namespace

std::vector<std::string> reasons_of(const JobAdvice& job) {
  const predict::Advice& advice = job.advice;
  std::vector<std::string> reasons;
  if (job.passed_over) {
    reasons.push_back("Less time x cost, but it learned less in as many epochs: " +
                      described(job, *job.passed_over));
  }
  add_others(job, reasons);
  const Candidate& least = advice.candidates[advice.chosen];
  if (advice.chosen != job.at && !learns_less(job, advice.chosen)) {
    reasons.push_back(fmt::format(
        "By the least time x cost alone: {}{}", described(job, advice.chosen),
        least.measured ? "; the step up to it gives less than the verdict's rule asks for"
                       : fmt::format(" ({} to {}); measure it before relying on it",
                                     format_seconds(Seconds(least.time_s.low)),
                                     format_seconds(Seconds(least.time_s.high)))));
  }
  if (advice.next) {
    reasons.push_back(fmt::format(
        "Next run that tells most: {:g} workers, {}; {:.0f} % that it changes the least time x "
        "cost",
        advice.next->workers, job.labels[advice.next->at], 100 * advice.next->changes_decision));
  }
  for (std::string& reason : reasons) reason += ".";
  return reasons;
}

std::string JobAdvice::sentence() const {
  const Candidate& one = chosen();
  std::string text = fmt::format(
      "Use {:g} worker{}{}: {} for {} ({}), {:.3g} {}", one.workers, one.workers == 1 ? "" : "s",
      labels.size() > 1 ? ", " + labels[one.series] : "", format_seconds(Seconds(one.time_s.value)),
      advice.time_means, origin(one), one.cost.value, advice.cost_means);
  text += learned_text(*this, at);
  const std::string more = beyond(*this);
  return text + (more.empty() ? "" : "; " + more) + ".";
}

}  // namespace lockstep::report
