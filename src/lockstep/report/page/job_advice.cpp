#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/analyze/verdict_parts.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/report/page/series_labels.h"
#include "lockstep/report/page/views.h"

namespace lockstep::report {
namespace {

using predict::Candidate;

/// What the times are of, where nobody asked for epochs: the run as long as it was measured, where
/// that is known, else an epoch.
std::string time_meant(const JobAdvice& job) {
  const bool whole = std::all_of(job.advice.candidates.begin(), job.advice.candidates.end(),
                                 [](const Candidate& one) { return one.job.total_s.has_value(); });
  if (!whole) return "one epoch";
  const auto epochs = job.series.front().epochs;
  const bool same = std::all_of(job.series.begin(), job.series.end(),
                                [&](const auto& one) { return one.epochs == epochs; });
  if (!same || !epochs) return "the whole run";
  return *epochs == 1 ? "one epoch" : fmt::format("{} epochs", *epochs);
}

/// The counts that the verdict names for a series: those up to which every step pays. Empty where
/// it says nothing about the series, as it was measured on one count.
std::vector<double> paying_counts(const std::vector<analyze::SpeedupGroup>& groups,
                                  const predict::TableSeries& series) {
  std::vector<double> counts;
  for (const analyze::SpeedupGroup& group : groups) {
    for (const analyze::PointSeries& points : analyze::series_of(group)) {
      if (!same_series(series, group, points)) continue;
      const std::size_t at = analyze::paying_index(points, group.basis);
      counts.push_back(static_cast<double>(*points[at]->configuration.workers));
    }
  }
  return counts;
}

/// The choice and the verdict must not contradict each other: of each series only the count that
/// pays by the verdict's rule is taken, and among those the least product of time and cost. Where
/// the verdict judged nothing, advise()'s own choice stands.
std::size_t choose(const JobAdvice& job, const std::vector<analyze::SpeedupGroup>& groups) {
  std::vector<std::vector<double>> paying;
  for (const predict::TableSeries& one : job.series) paying.push_back(paying_counts(groups, one));
  std::optional<std::size_t> best;
  const auto& all = job.advice.candidates;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<double>& counts = paying[all[i].series];
    if (std::find(counts.begin(), counts.end(), all[i].workers) == counts.end()) continue;
    const auto product = [&](std::size_t at) { return all[at].time_s.value * all[at].cost.value; };
    if (!best || product(i) < product(*best)) best = i;
  }
  return best.value_or(job.advice.chosen);
}

std::string origin(const Candidate& one) {
  return one.measured ? "measured" : "predicted";
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
  const std::string how = larger->measured == chosen.measured ? "" : ", " + origin(*larger);
  if (gain < 1) {
    return fmt::format("{:g} would be slower ({}{})", larger->workers,
                       format_seconds(Seconds(larger->time_s.value)), how);
  }
  return fmt::format("{:g} would be {:.2f}x as fast for {:.2f}x the {}{}", larger->workers, gain,
                     larger->cost.value / chosen.cost.value, job.advice.cost_means, how);
}

/// "8 workers, B = 512: 7.29 s, 0.0162 device-hours, predicted".
std::string described(const JobAdvice& job, const Candidate& one) {
  return fmt::format("{:g} worker{}, {}: {}, {:.3g} {}, {}", one.workers,
                     one.workers == 1 ? "" : "s", job.labels[one.series],
                     format_seconds(Seconds(one.time_s.value)), one.cost.value,
                     job.advice.cost_means, origin(one));
}

std::vector<std::string> reasons_of(const JobAdvice& job) {
  const predict::Advice& advice = job.advice;
  const Candidate& chosen = job.chosen();
  const Candidate* faster = nullptr;
  const Candidate* cheaper = nullptr;
  for (const Candidate& one : advice.candidates) {
    if (!one.pareto) continue;
    const double time = one.time_s.value / chosen.time_s.value;
    const double cost = one.cost.value / chosen.cost.value;
    if (time < 0.95 && (faster == nullptr || one.cost.value < faster->cost.value)) faster = &one;
    if (cost < 0.95 && (cheaper == nullptr || one.time_s.value < cheaper->time_s.value)) {
      cheaper = &one;
    }
  }
  std::vector<std::string> reasons;
  if (faster != nullptr && faster == cheaper) {
    reasons.push_back("Perhaps faster and cheaper: " + described(job, *faster));
  } else {
    if (faster != nullptr) reasons.push_back("If it has to be faster: " + described(job, *faster));
    if (cheaper != nullptr) {
      reasons.push_back("If it has to be cheaper: " + described(job, *cheaper));
    }
  }
  const Candidate& least = advice.candidates[advice.chosen];
  if (&least != &chosen) {
    const bool known = least.measured;
    reasons.push_back(
        fmt::format("By the least time x cost alone: {}{}", described(job, least),
                    known ? "; the step up to it gives less than the verdict's rule asks for"
                          : fmt::format(" ({} to {}); measure it before relying on it",
                                        format_seconds(Seconds(least.time_s.low)),
                                        format_seconds(Seconds(least.time_s.high)))));
  }
  if (advice.next) {
    reasons.push_back(fmt::format(
        "Next run that tells most: {:g} workers of {}; {:.0f} % that it changes the least time x "
        "cost",
        advice.next->workers, advice.next->series, 100 * advice.next->changes_decision));
  }
  for (std::string& reason : reasons) reason += ".";
  return reasons;
}

}  // namespace

std::string JobAdvice::sentence() const {
  const Candidate& one = chosen();
  std::string text = fmt::format(
      "Use {:g} worker{}{}: {} for {} ({}), {:.3g} {}", one.workers, one.workers == 1 ? "" : "s",
      labels.size() > 1 ? ", " + labels[one.series] : "", format_seconds(Seconds(one.time_s.value)),
      advice.time_means, origin(one), one.cost.value, advice.cost_means);
  const std::string more = beyond(*this);
  return text + (more.empty() ? "" : "; " + more) + ".";
}

std::vector<JobAdvice> job_advice(const PageSource& source,
                                  const std::vector<analyze::SpeedupGroup>& groups) {
  // Jobs by model: a time of one says nothing about which to use for another.
  std::vector<std::string> order;
  std::map<std::string, std::vector<predict::TableSeries>> jobs;
  for (const predict::TableSeries& one : source.series) {
    if (one.series.points.empty()) continue;
    auto& members = jobs[one.model];
    if (members.empty()) order.push_back(one.model);
    if (members.size() < kMostLines) members.push_back(one);
  }
  std::vector<JobAdvice> all;
  for (const std::string& model : order) {
    JobAdvice job;
    job.job = model.empty() ? "unnamed model" : model;
    job.series = std::move(jobs[model]);
    predict::AdviceQuestion question;
    question.measured = job.series;
    double most = 1;
    std::vector<LabelParts> parts;
    for (const predict::TableSeries& one : job.series) {
      most = std::max(most, one.series.points.back().workers);
      parts.push_back(label_parts(one));
    }
    question.max_workers = std::max(4.0, 2 * most);
    question.price_per_hour = source.price_per_hour;
    try {
      job.advice = predict::advise(question);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      continue;  // nothing known of the job's length: the scaling view shows what there is
    }
    job.advice.time_means = time_meant(job);
    job.labels = short_labels(parts);
    job.at = choose(job, groups);
    job.reasons = reasons_of(job);
    all.push_back(std::move(job));
  }
  return all;
}

}  // namespace lockstep::report
