#include "lockstep/advise/job_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lockstep/advise/energy.h"
#include "lockstep/advise/words.h"
#include "lockstep/analyze/series.h"
#include "lockstep/analyze/verdict/verdict.h"
#include "lockstep/base/error.h"

namespace lockstep::advise {
namespace {

using predict::TableSeries;
using Job = std::pair<std::string, std::string>;  ///< model, data set

std::vector<std::string> labels_of(const std::vector<TableSeries>& series) {
  std::vector<analyze::SeriesKey> keys;
  for (const TableSeries& one : series) keys.push_back(one.key);
  return analyze::short_labels(keys);
}

JobAdvice advise_job(const Measured& measured, const Terms& terms, std::vector<TableSeries> series,
                     std::span<const analyze::QualityPoint> qualities) {
  JobAdvice job;
  job.series = std::move(series);
  job.labels = labels_of(job.series);
  const auto room = measured.rooms.find(job.series.front().model);
  if (room != measured.rooms.end()) job.room = static_cast<double>(room->second);
  Candidates candidates = make_candidates(job.series, terms, job.room);
  job.time_means = std::move(candidates.time_means);
  job.cost_means = std::move(candidates.cost_means);
  job.candidates = std::move(candidates.all);
  add_energy(job.series, measured.groups, job.candidates);
  // A target counts the epochs that each batch needs: what was learned in as many is then moot.
  if (!terms.steps) job.quality = learned_quality(job.series, job.candidates, qualities);
  job.paying = paying_counts(job.series, job.candidates, measured.groups, terms.steps.has_value());
  job.choice = choose(job.candidates, job.paying, job.quality, terms);
  job.next = next_run(job.candidates, job.paying, job.choice, job.quality, terms);
  explain(job, terms);
  std::vector<analyze::Configuration> of_job;
  for (const analyze::Configuration& one : measured.configurations) {
    const TableSeries& first = job.series.front();
    if (one.model == first.model && one.dataset == first.key.dataset) of_job.push_back(one);
  }
  if (std::string text = analyze::disturbed_runs(of_job); !text.empty()) {
    job.disturbed = true;
    job.caveats.push_back(std::move(text));
  }
  return job;
}

/// Throws kData where the ranks of the job trained apart.
void require_communication(const Measured& measured, const Job& job) {
  for (const analyze::SpeedupGroup& group : measured.groups) {
    if (Job{group.model, group.dataset} != job || !analyze::ranks_trained_apart(group)) continue;
    throw Error(ErrorKind::kData,
                fmt::format("no worker count can be recommended for {}: its ranks were not seen to "
                            "communicate, so each trained a network of its own",
                            group.title()),
                "wrap the network in DistributedDataParallel, or average its gradients, and "
                "measure again");
  }
}

}  // namespace

std::vector<JobAdvice> advise(const Measured& measured, const Terms& terms) {
  std::vector<Job> order;
  std::map<Job, std::vector<TableSeries>> jobs;
  for (const TableSeries& one : measured.series) {
    if (one.series.points.empty()) continue;
    auto& members = jobs[{one.model, one.key.dataset}];
    if (members.empty()) order.emplace_back(one.model, one.key.dataset);
    members.push_back(one);
  }
  const std::vector<analyze::QualityPoint> qualities = analyze::qualities(measured.configurations);
  std::vector<JobAdvice> all;
  std::optional<Error> problem;
  for (const Job& key : order) {
    try {
      require_communication(measured, key);
      all.push_back(advise_job(measured, terms, std::move(jobs[key]), qualities));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      problem = error;
      continue;
    }
    const auto same_model = std::count_if(
        order.begin(), order.end(), [&](const Job& other) { return other.first == key.first; });
    all.back().job = key.first.empty() ? "unnamed model" : key.first;
    if (same_model > 1 && !key.second.empty()) all.back().job += " on " + key.second;
  }
  if (!all.empty()) return all;
  if (problem) throw *problem;
  throw Error(ErrorKind::kData, "nothing to choose from: no time at a known number of workers",
              "measure throughput, step_time, epoch_time or total_time");
}

std::vector<JobAdvice> advise_if_possible(const Measured& measured, const Terms& terms) {
  try {
    return advise(measured, terms);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    return {};
  }
}

}  // namespace lockstep::advise
