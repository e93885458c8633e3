#include "lockstep/advise/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/predict/devices/device_table.h"
#include "lockstep/predict/odds.h"

namespace lockstep::advise {
namespace {

using predict::Estimate;
using predict::JobPrediction;
using predict::TableSeries;

/// A limit is kept when it is kept 9 times of 10.
constexpr double kSure = 0.9;

double largest_count(const std::vector<TableSeries>& series, const Terms& terms) {
  if (terms.max_workers > 0) return terms.max_workers;
  double most = 1;
  for (const TableSeries& one : series) {
    if (!one.series.points.empty()) most = std::max(most, one.series.points.back().workers);
  }
  return std::max(terms.simulated ? 64.0 : 4.0, 2 * most);
}

std::set<double> counts_of(const TableSeries& series, double most) {
  std::set<double> counts;
  for (const predict::ScalingPoint& point : series.series.points) counts.insert(point.workers);
  for (double n = series.series.points.front().workers; n <= most; n *= 2) counts.insert(n);
  std::erase_if(counts, [&](double n) { return n > most; });
  return counts;
}

/// Sets `simulated` where the rate is that of a simulation.
JobPrediction job_of(const Terms& terms, const TableSeries& series, double workers,
                     bool& simulated) {
  predict::JobQuestion asked;
  asked.workers = workers;
  asked.epochs = terms.epochs;
  asked.examples = terms.examples;
  if (terms.simulated && workers > series.series.points.back().workers) {
    asked.rate = terms.simulated(series, workers);
    simulated = asked.rate.has_value();
  }
  return predict::predict_job(series, asked);
}

enum class TimeOf { kTarget, kTotal, kEpoch };

std::optional<Estimate> time_of(TimeOf what, const Terms& terms, const TableSeries& series,
                                const JobPrediction& job) {
  if (what == TimeOf::kTotal) return job.total_s;
  if (what == TimeOf::kEpoch) return job.epoch_s;
  const double batch = predict::global_batch(series, job.scaling.workers).value_or(0);
  if (!(batch > 0) || batch >= terms.failing_batch.value_or(HUGE_VAL)) return std::nullopt;
  const auto target = predict::time_to_target(job, *terms.steps, batch);
  if (!target) return std::nullopt;
  return predict::mapped(target->hours, [](double hours) { return hours * 3600; });
}

Origin origin_of(TimeOf what, const TableSeries& series, const JobPrediction& job) {
  if (what == TimeOf::kTarget) return Origin::kPredicted;
  const bool total = what == TimeOf::kTotal;
  if (total && job.total_derived) return Origin::kDerived;
  if (!(total ? job.total_measured : job.scaling.measured)) return Origin::kPredicted;
  const bool from_rate = !total && series.metric != predict::Metric::kEpochTime;
  return job.derived || from_rate ? Origin::kDerived : Origin::kMeasured;
}

/// What all series can be compared by: the whole job of as many epochs, else one epoch of it.
TimeOf comparable(const std::vector<TableSeries>& series, const Terms& terms, std::string& means) {
  if (terms.steps) {
    means = "to the target";
    return TimeOf::kTarget;
  }
  std::set<std::int64_t> epochs;
  for (const TableSeries& one : series) {
    if (one.series.points.empty()) continue;
    bool simulated = false;
    const JobPrediction job = job_of(terms, one, one.series.points.front().workers, simulated);
    epochs.insert(job.total_s ? job.epochs : -1);
  }
  if (terms.epochs || (epochs.size() == 1 && *epochs.begin() >= 0)) {
    const std::int64_t count = terms.epochs.value_or(epochs.empty() ? 0 : *epochs.begin());
    means = count == 1  ? "one epoch"
            : count > 0 ? fmt::format("{} epochs", count)
                        : "the whole run";
    return TimeOf::kTotal;
  }
  means = "one epoch";
  return TimeOf::kEpoch;
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

/// Throws when all that was measured is larger than what may be used.
void check_smallest_counts(const std::vector<TableSeries>& series, double most) {
  double smallest = 0;
  for (const TableSeries& one : series) {
    if (one.series.points.empty()) continue;
    const double workers = one.series.points.front().workers;
    smallest = smallest > 0 ? std::min(smallest, workers) : workers;
  }
  if (smallest <= most) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("nothing to choose from: the smallest measured count is {:g} workers, "
                          "but at most {:g} are allowed",
                          smallest, most),
              fmt::format("measure fewer workers, or raise --max-workers to {:g}", smallest));
}

/// What so many workers of a series occupy. Where workers of one and of several threads are
/// compared, they occupy cores.
double devices_of(const TableSeries& series, double workers) {
  const auto threads = series.key.settings.find("threads_per_worker");
  if (threads == series.key.settings.end()) return workers;
  const double each = std::strtod(threads->second.c_str(), nullptr);
  return each > 0 ? each * workers : workers;
}

std::optional<Candidate> make_candidate(const TableSeries& series, const Terms& terms, TimeOf what,
                                        double workers) {
  Candidate one;
  one.workers = workers;
  bool simulated = false;
  one.job = job_of(terms, series, workers, simulated);
  const std::optional<Estimate> time = time_of(what, terms, series, one.job);
  if (!time) return std::nullopt;
  one.time_s = *time;
  one.origin = simulated ? Origin::kSimulated : origin_of(what, series, one.job);
  const double price = price_of(terms, series.device);
  const double devices = devices_of(series, workers);
  one.cost = predict::mapped(*time, [&](double s) { return s / 3600 * devices * price; });
  if (terms.deadline_s) {
    one.meets_deadline = predict::probability_at_most(one.time_s, *terms.deadline_s);
  }
  if (terms.budget) one.meets_budget = predict::probability_at_most(one.cost, *terms.budget);
  return one;
}

}  // namespace

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kDerived:
      return "derived";
    case Origin::kPredicted:
      return "predicted";
    case Origin::kSimulated:
      return "simulated";
  }
  return "";
}

double price_of(const Terms& terms, const std::string& device) {
  if (terms.price_per_hour.empty()) return 1;
  const auto found = terms.price_per_hour.find(device);
  if (found != terms.price_per_hour.end()) return found->second;
  const auto known = predict::find_device(device);
  for (const auto& [name, price] : terms.price_per_hour) {
    const auto other = predict::find_device(name);
    if (known && other && known->name == other->name) return price;
  }
  if (device.empty()) {
    throw Error(ErrorKind::kUsage, "the device of these runs is unknown, so no price applies to it",
                fmt::format("write the price without a device, --price ={:g}/h, or measure with "
                            "--device NAME",
                            terms.price_per_hour.begin()->second));
  }
  throw Error(ErrorKind::kUsage, fmt::format("no price was given for device '{}'", device),
              fmt::format("add --price {}=2.48/h, or omit all prices", device));
}

Objective objective_from_name(const std::string& name) {
  if (name == "time") return Objective::kTime;
  if (name == "cost") return Objective::kCost;
  if (name == "energy") return Objective::kEnergy;
  throw Error(ErrorKind::kUsage, fmt::format("unknown --objective '{}'", name),
              "choose time, cost or energy, or omit --objective for the count that pays off");
}

bool Candidate::feasible() const {
  return meets_deadline >= kSure && meets_budget >= kSure;
}

Candidates make_candidates(const std::vector<TableSeries>& series, const Terms& terms,
                           std::optional<double> room) {
  Candidates result;
  result.cost_means = terms.price_per_hour.empty() ? "device-hours" : "cost";
  const double most = largest_count(series, terms);
  const TimeOf what = comparable(series, terms, result.time_means);
  for (std::size_t at = 0; at < series.size(); ++at) {
    if (series[at].series.points.empty()) continue;
    for (const double workers : counts_of(series[at], most)) {
      std::optional<Candidate> one = make_candidate(series[at], terms, what, workers);
      if (!one) continue;
      one->series = at;
      one->fits = workers <= room.value_or(HUGE_VAL);
      result.all.push_back(std::move(*one));
    }
  }
  if (result.all.empty()) {
    check_smallest_counts(series, most);
    throw Error(ErrorKind::kData, "nothing to choose from: no time of a whole job is known",
                "give --epochs and --examples, or measure epoch_time; for rates of other work than "
                "examples, lockstep report names the worker count that pays off");
  }
  mark_pareto(result.all);
  std::stable_sort(
      result.all.begin(), result.all.end(),
      [](const Candidate& a, const Candidate& b) { return a.time_s.value < b.time_s.value; });
  return result;
}

}  // namespace lockstep::advise
