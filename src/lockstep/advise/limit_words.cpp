#include <fmt/format.h>

#include "lockstep/advise/words.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/odds.h"

namespace lockstep::advise {
namespace {

/// The cheapest of those that are surer to be in time than the choice; nothing when none is.
const Candidate* surer_in_time(const JobAdvice& job) {
  const double sure = predict::nine_of_ten(job.chosen().time_s);
  const Candidate* found = nullptr;
  for (const Candidate& one : job.candidates) {
    if (predict::nine_of_ten(one.time_s) >= sure) continue;
    if (found == nullptr || one.cost.value < found->cost.value) found = &one;
  }
  return found;
}

/// The fastest of those that are surer to be cheap than the choice.
const Candidate* surer_in_cost(const JobAdvice& job) {
  const double sure = predict::nine_of_ten(job.chosen().cost);
  const Candidate* found = nullptr;
  for (const Candidate& one : job.candidates) {
    if (predict::nine_of_ten(one.cost) >= sure) continue;
    if (found == nullptr || one.time_s.value < found->time_s.value) found = &one;
  }
  return found;
}

/// Of those that are at least 5 % cheaper, the one that is surest to be fast.
const Candidate* fastest_cheaper(const JobAdvice& job) {
  const Candidate* found = nullptr;
  for (const Candidate& one : job.candidates) {
    if (one.cost.value >= 0.95 * job.chosen().cost.value) continue;
    const double sure = predict::nine_of_ten(one.time_s);
    if (found == nullptr || sure < predict::nine_of_ten(found->time_s)) found = &one;
  }
  return found;
}

std::string limit_text(double seconds) {
  return format_seconds(Seconds(seconds));
}

}  // namespace

void add_what_would_change(JobAdvice& job, const Terms& terms) {
  if (!job.choice.feasible) return;
  const Candidate& chosen = job.chosen();
  const auto text_of = [&](const Candidate& one) {
    return described(job, static_cast<std::size_t>(&one - job.candidates.data()));
  };
  const std::string sure_time = limit_text(predict::nine_of_ten(chosen.time_s));
  if (const Candidate* one = surer_in_time(job); one != nullptr) {
    job.would_change.push_back(
        fmt::format("a deadline below {} would require {}", sure_time, text_of(*one)));
  } else if (terms.deadline_s) {
    job.would_change.push_back(
        fmt::format("no choice would meet a deadline below {} with 90 % probability", sure_time));
  }
  if (terms.deadline_s) {
    if (const Candidate* one = fastest_cheaper(job); one != nullptr) {
      job.would_change.push_back(fmt::format("a deadline of {} would allow {}",
                                             limit_text(predict::nine_of_ten(one->time_s)),
                                             text_of(*one)));
    }
  } else if (const Candidate* one = surer_in_cost(job); one != nullptr) {
    job.would_change.push_back(
        fmt::format("a budget below {:.3g}{} would mean {}", predict::nine_of_ten(chosen.cost),
                    job.cost_means == "cost" ? "" : " " + job.cost_means, text_of(*one)));
  }
  const Candidate* larger = next_larger(job);
  if (larger == nullptr || larger->was_run() || terms.limited()) return;
  const double pays =
      chosen.time_s.value / (1 + analyze::kPayingShare * (larger->workers / chosen.workers - 1));
  if (larger->time_s.low < pays) {
    job.would_change.push_back(fmt::format("{:g} workers would pay off if they took {} or less",
                                           larger->workers, limit_text(pays)));
  }
}

}  // namespace lockstep::advise
