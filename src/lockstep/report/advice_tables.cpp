#include "lockstep/report/advice_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/base/text/text.h"
#include "lockstep/base/units.h"
#include "lockstep/report/prediction_tables.h"
#include "lockstep/report/render/estimate_text.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::report {
namespace {

using advise::Candidate;
using advise::JobAdvice;

nlohmann::json candidate_json(const JobAdvice& job, const Candidate& one) {
  const predict::TableSeries& series = job.series[one.series];
  const char* cost = job.cost_means == "cost" ? "cost" : "device_hours";
  return {{"series", series.name},
          {"device", series.device},
          {"workers", one.workers},
          {"kind", advise::origin_name(one.origin)},
          {"time_s", estimate_json(one.time_s)},
          {cost, estimate_json(one.cost)},
          {"energy_j", one.energy_j ? nlohmann::json(*one.energy_j) : nlohmann::json()},
          {"meets_deadline", one.meets_deadline},
          {"meets_budget", one.meets_budget},
          {"pareto", one.pareto}};
}

nlohmann::json candidate_or_null(const JobAdvice& job, std::optional<std::size_t> at) {
  return at ? candidate_json(job, job.candidates[*at]) : nlohmann::json();
}

/// Of the choice's interval; of total times only where those are compared.
std::vector<std::string> reasons_for_width(const JobAdvice& job) {
  std::vector<std::string> reasons = job.chosen().job.scaling.width;
  const bool total = job.time_means != "to the target" && job.time_means != "one epoch";
  std::erase_if(reasons, [&](const std::string& reason) {
    return !total && reason.starts_with("total time: ");
  });
  return reasons;
}

nlohmann::json next_json(const JobAdvice& job) {
  if (!job.next) return nullptr;
  nlohmann::json json{{"series", job.series[job.next->series].name},
                      {"workers", job.next->workers},
                      {"changes_decision", job.next->changes_choice}};
  json["time_s"] = estimate_json(job.next->time_s);
  if (job.next->epoch_s) json["epoch_time_s"] = estimate_json(*job.next->epoch_s);
  return json;
}

Table candidates_table(const JobAdvice& job, const advise::Terms& terms) {
  Table table;
  table.title = fmt::format("choices, fastest first (time: {})", job.time_means);
  table.columns = {{"", "", "choice", Align::kLeft, ""},
                   {"series", "", "series", Align::kLeft, ""},
                   {"workers", "", "workers", Align::kRight, ""},
                   {"time", "", "time_s", Align::kRight, ""},
                   {job.cost_means, "", "cost", Align::kRight, ""},
                   {"kind", "", "kind", Align::kLeft, ""}};
  const bool some_are_worse = std::any_of(job.candidates.begin(), job.candidates.end(),
                                          [](const Candidate& one) { return !one.pareto; });
  if (some_are_worse) {
    table.columns.push_back(
        {"Pareto", "", "pareto", Align::kLeft, "none is both faster and cheaper"});
  }
  if (terms.deadline_s) {
    table.columns.push_back({"in time", "%", "meets_deadline_percent", Align::kRight,
                             "probability of meeting the deadline"});
  }
  if (terms.budget) {
    table.columns.push_back({"in budget", "%", "meets_budget_percent", Align::kRight,
                             "probability of staying within the budget"});
  }
  const bool energy = std::any_of(job.candidates.begin(), job.candidates.end(),
                                  [](const Candidate& one) { return one.energy_j.has_value(); });
  if (energy) {
    table.columns.push_back(
        {"energy", "kJ", "energy_kj", Align::kRight, "time x mean power of the measured runs"});
    if (terms.carbon_g_per_kwh) {
      table.columns.push_back({"CO2", "g", "co2_g", Align::kRight, "energy x --carbon"});
    }
  }
  table.label_columns = 3;
  for (std::size_t i = 0; i < job.candidates.size(); ++i) {
    const Candidate& one = job.candidates[i];
    const std::string mark = i == job.choice.at            ? "use"
                             : job.choice.next_best == i   ? "next best"
                             : job.choice.passed_over == i ? "learned less"
                                                           : " ";
    std::vector<Cell> row{mark,
                          job.labels[one.series],
                          decimal(one.workers, 0),
                          Cell(time_with_interval(one.time_s), one.time_s.value),
                          Cell(significant_with_interval(one.cost), one.cost.value),
                          std::string(advise::origin_name(one.origin))};
    if (some_are_worse) row.push_back(one.pareto ? "yes" : " ");
    if (terms.deadline_s) row.push_back(decimal(100 * one.meets_deadline, 0));
    if (terms.budget) row.push_back(decimal(100 * one.meets_budget, 0));
    if (energy) {
      row.push_back(one.energy_j ? significant(*one.energy_j / 1e3) : Cell{});
      if (terms.carbon_g_per_kwh) {
        row.push_back(one.energy_j ? significant(*one.energy_j / 3.6e6 * *terms.carbon_g_per_kwh)
                                   : Cell{});
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

nlohmann::json advice_json(const JobAdvice& job, const std::vector<std::string>& notes) {
  nlohmann::json json{{"job", job.job},
                      {"sentence", job.sentence()},
                      {"time", job.time_means},
                      {"feasible", job.choice.feasible},
                      {"use", candidate_json(job, job.chosen())},
                      {"why", job.why},
                      {"alternatives", job.alternatives},
                      {"would_change", job.would_change},
                      {"next_run", next_json(job)},
                      {"next_best", candidate_or_null(job, job.choice.next_best)},
                      {"learned_less", candidate_or_null(job, job.choice.passed_over)},
                      {"notes", notes},
                      {"caveats", job.caveats},
                      {"interval_because", reasons_for_width(job)},
                      {"candidates", nlohmann::json::array()}};
  json["room"] = job.room ? nlohmann::json(*job.room) : nlohmann::json();
  json["more_workers_slower_probability"] =
      job.more_is_slower ? nlohmann::json(*job.more_is_slower) : nlohmann::json();
  for (const Candidate& one : job.candidates) {
    json["candidates"].push_back(candidate_json(job, one));
  }
  return json;
}

std::string next_run_text(const JobAdvice& job) {
  if (!job.next) {
    return job.disturbed
               ? "the measured ones again, on a quiet machine: other programs ran during them"
               : "none; no further run is likely to change the choice";
  }
  const advise::NextRun& next = *job.next;
  const predict::Estimate& duration_s = next.epoch_s ? *next.epoch_s : next.time_s;
  const std::string duration = fmt::format(
      ", {} of about {}, {:.2g} device-hours", next.epoch_s ? "an epoch" : job.time_means,
      time_with_interval(duration_s), duration_s.value * next.workers / 3600);
  return fmt::format("{} of {}{}; {:.0f} % likely to change the choice",
                     counted(std::llround(next.workers), "worker"), job.series[next.series].name,
                     duration, 100 * next.changes_choice);
}

std::string advice_text(const JobAdvice& job, std::size_t jobs, const advise::Terms& terms,
                        const std::vector<std::string>& notes, const RenderOptions& options) {
  std::string text;
  const auto append = [&](const char* first, const std::string& sentence) {
    append_wrapped(text, first, printable(sentence), options.width);
  };
  append("", job.sentence_of(jobs));
  for (const std::string& reason : job.why) append("  because: ", reason);
  for (const std::string& one : job.alternatives) append("  ", one);
  if (job.more_is_slower.value_or(0) >= 0.01) {
    append("  ", fmt::format("{} would be slower with a probability of {:.0f} %",
                             counted(std::llround(job.more_workers), "worker"),
                             100 * *job.more_is_slower));
  }
  for (const std::string& one : job.would_change) append("  would change: ", one);
  append("  next run: ", next_run_text(job));
  Table table = candidates_table(job, terms);
  table.notes = job.caveats;
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  for (std::string& note : interval_notes(job.chosen().workers, reasons_for_width(job))) {
    table.notes.push_back(std::move(note));
  }
  table.notes.emplace_back("in brackets: 90 % intervals");
  return text + "\n" + render(table, Format::kText, options);
}

}  // namespace lockstep::report
