#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/analyze/verdict_parts.h"
#include "lockstep/base/error.h"
#include "lockstep/record/host_room.h"
#include "lockstep/report/page/job_words.h"
#include "lockstep/report/page/series_labels.h"
#include "lockstep/report/page/views.h"

namespace lockstep::report {
namespace {

using predict::Candidate;
using predict::TableSeries;

/// What the times are of, where nobody asked for epochs: the run as long as it was measured, where
/// that is known, else an epoch.
std::string time_meant(const JobAdvice& job) {
  const bool whole = std::all_of(job.advice.candidates.begin(), job.advice.candidates.end(),
                                 [](const Candidate& one) { return one.job.total_s.has_value(); });
  if (!whole) return "one epoch";
  const auto epochs = job.series.front().epochs;
  const bool same = std::all_of(job.series.begin(), job.series.end(),
                                [&](const TableSeries& one) { return one.epochs == epochs; });
  if (!same || !epochs) return "the whole run";
  return *epochs == 1 ? "one epoch" : fmt::format("{} epochs", *epochs);
}

/// The counts that the verdict names for a series: those up to which every step pays. Empty where
/// it says nothing about the series, as it was measured on one count.
std::vector<double> paying_counts(const std::vector<analyze::SpeedupGroup>& groups,
                                  const TableSeries& series) {
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

std::vector<std::size_t> paying_candidates(const JobAdvice& job,
                                           const std::vector<analyze::SpeedupGroup>& groups) {
  std::vector<std::vector<double>> paying;
  for (const TableSeries& one : job.series) paying.push_back(paying_counts(groups, one));
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < job.advice.candidates.size(); ++i) {
    const Candidate& one = job.advice.candidates[i];
    const std::vector<double>& counts = paying[one.series];
    if (std::find(counts.begin(), counts.end(), one.workers) != counts.end()) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> measured_candidates(const JobAdvice& job) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < job.advice.candidates.size(); ++i) {
    if (job.advice.candidates[i].measured) found.push_back(i);
  }
  return found;
}

/// Those that learned as well as the best among them, and those of which that is not known.
std::vector<std::size_t> that_learned(const JobAdvice& job, std::vector<std::size_t> candidates) {
  if (const std::optional<std::size_t> best = job.quality.best(candidates)) {
    std::erase_if(candidates, [&](std::size_t i) { return job.quality.less(i, *best); });
  }
  return candidates;
}

std::optional<std::size_t> least_product(const JobAdvice& job,
                                         const std::vector<std::size_t>& candidates) {
  const auto product = [&](std::size_t at) {
    const Candidate& one = job.advice.candidates[at];
    return one.time_s.value * one.cost.value;
  };
  const auto least =
      std::min_element(candidates.begin(), candidates.end(),
                       [&](std::size_t a, std::size_t b) { return product(a) < product(b); });
  return least == candidates.end() ? std::nullopt : std::optional(*least);
}

/// The choice and the verdict must not contradict each other: of each series only the count that
/// pays by the verdict's rule is taken, of those the ones that learned as well as the best, and
/// among those the least product of time and cost. Where the verdict judged no series, the choice
/// is among all that were run: what a prediction would take instead is said beside it.
void choose(JobAdvice& job, const std::vector<analyze::SpeedupGroup>& groups) {
  std::vector<std::size_t> eligible = paying_candidates(job, groups);
  if (eligible.empty()) eligible = measured_candidates(job);
  job.at = least_product(job, that_learned(job, eligible)).value_or(job.advice.chosen);
  const std::optional<std::size_t> alone = least_product(job, eligible);
  if (alone && *alone != job.at) job.passed_over = alone;
}

/// How many workers the host holds, where all runs of the job were started on one by hand: of a
/// cluster the runs do not tell how large it is.
std::optional<double> room_of(const PageSource& source, const std::string& model) {
  std::optional<double> most;
  for (const RunDigest& digest : source.runs) {
    const record::RunSpec& spec = digest.run.started.spec;
    if (spec.recipe != model) continue;
    const auto room = record::host_room(spec, digest.run.started.machine);
    if (!room || spec.launcher != "local") return std::nullopt;
    most = std::max(most.value_or(0), static_cast<double>(*room));
  }
  return most;
}

/// Notes in which the series differ: the others need no mention.
std::set<std::string> differing_notes(const std::vector<TableSeries>& series) {
  std::map<std::string, std::set<std::string>> values;
  for (const TableSeries& one : series) {
    for (const auto& [name, value] : one.settings) values[name].insert(value);
  }
  std::set<std::string> names;
  for (const auto& [name, different] : values) {
    if (different.size() > 1) names.insert(name);
  }
  return names;
}

std::vector<std::string> labels_of(const std::vector<TableSeries>& series) {
  const std::set<std::string> differing = differing_notes(series);
  std::vector<LabelParts> parts;
  for (const TableSeries& one : series) parts.push_back(label_parts(one, differing));
  return short_labels(parts);
}

}  // namespace

std::vector<JobAdvice> job_advice(const PageSource& source,
                                  const std::vector<analyze::Configuration>& configurations,
                                  const std::vector<analyze::SpeedupGroup>& groups) {
  // Jobs by model: a time of one says nothing about which to use for another.
  std::vector<std::string> order;
  std::map<std::string, std::vector<TableSeries>> jobs;
  for (const TableSeries& one : source.series) {
    if (one.series.points.empty()) continue;
    auto& members = jobs[one.model];
    if (members.empty()) order.push_back(one.model);
    if (members.size() < kMostLines) members.push_back(one);
  }
  const std::vector<analyze::QualityPoint> qualities = analyze::qualities(configurations);
  std::vector<JobAdvice> all;
  for (const std::string& model : order) {
    JobAdvice job;
    job.job = model.empty() ? "unnamed model" : model;
    job.series = std::move(jobs[model]);
    job.room = room_of(source, model);
    predict::AdviceQuestion question;
    question.measured = job.series;
    double most = 1;
    for (const TableSeries& one : job.series) {
      most = std::max(most, one.series.points.back().workers);
    }
    question.max_workers = std::max(4.0, 2 * most);
    question.room = job.room;
    question.price_per_hour = source.price_per_hour;
    try {
      job.advice = predict::advise(question);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      continue;  // nothing known of the job's length: the scaling view shows what there is
    }
    job.advice.time_means = time_meant(job);
    job.labels = labels_of(job.series);
    job.quality = choice_quality(job.series, job.advice.candidates, qualities);
    choose(job, groups);
    job.reasons = reasons_of(job);
    all.push_back(std::move(job));
  }
  return all;
}

}  // namespace lockstep::report
