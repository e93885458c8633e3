#include "lockstep/report/failure_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"
#include "lockstep/report/render/estimate_text.h"

namespace lockstep::report {
namespace {

double cost(const simulate::JobForecast& row, const simulate::JobOutcome& outcome) {
  return outcome.host_seconds / 3600 * row.price_per_host_hour;
}

std::vector<Cell> failures_row(const simulate::JobForecast& row,
                               const simulate::JobOutcome& outcome, bool all_needed) {
  const double daly = simulate::daly_interval_s(row.job);
  std::vector<Cell> cells{count(row.workers),
                          all_needed ? "all" : "fewer",
                          duration(row.job.mttf_s()),
                          duration(daly),
                          row.best_interval_s ? duration(*row.best_interval_s) : Cell(),
                          duration(outcome.interval_s),
                          duration(row.job.work_s)};
  if (!outcome.finished) {
    cells.resize(cells.size() + 6);
    return cells;
  }
  const std::vector<Cell> results{
      decimal(outcome.failures, 1),
      duration(outcome.total_s.value),
      duration(outcome.total_s.low),
      duration(outcome.total_s.high),
      decimal(100 * outcome.goodput, 1),
      row.price_per_host_hour > 0 ? decimal(cost(row, outcome), 0) : Cell()};
  cells.insert(cells.end(), results.begin(), results.end());
  return cells;
}

nlohmann::json outcome_json(const simulate::JobForecast& row, const simulate::JobOutcome& outcome) {
  if (!outcome.finished) return nullptr;
  nlohmann::json json{{"total_time_s", estimate_json(outcome.total_s)},
                      {"goodput", outcome.goodput},
                      {"failures", outcome.failures},
                      {"host_hours", outcome.host_seconds / 3600}};
  if (row.price_per_host_hour > 0) json["cost"] = cost(row, outcome);
  return json;
}

}  // namespace

Table failures_table(std::span<const simulate::JobForecast> rows) {
  Table table;
  table.title = "The job with failures";
  table.label_columns = 2;
  table.columns = {
      {"N", "", "workers", Align::kRight, "workers"},
      {"needs", "", "needs", Align::kLeft,
       "all: a failed host must be replaced; fewer: training continues without it"},
      {"MTTF", "", "mttf_s", Align::kRight, "mean time to a failure of any host"},
      {"Daly", "", "daly_interval_s", Align::kRight,
       "training time between checkpoints, by Daly's formula"},
      {"best", "", "best_interval_s", Align::kRight, "the same with the best simulated goodput"},
      {"interval", "", "interval_s", Align::kRight, "the one that was simulated"},
      {"without", "", "work_s", Align::kRight, "time without failures and checkpoints"},
      {"failures", "", "failures", Align::kRight, "mean number during the job"},
      {"time", "", "total_time_s", Align::kRight, "mean time with them"},
      {"low", "", "total_time_low_s", Align::kRight, "5 % of the jobs take less"},
      {"high", "", "total_time_high_s", Align::kRight, "5 % take more"},
      {"goodput", "%", "goodput_percent", Align::kRight, "without / time"},
      {"cost", "", "cost", Align::kRight, "of the hosts, as long as they are part of the job"}};
  for (const simulate::JobForecast& row : rows) {
    table.rows.push_back(failures_row(row, row.waits, true));
    if (row.goes_on) table.rows.push_back(failures_row(row, *row.goes_on, false));
    if (!row.waits.finished || (row.goes_on && !row.goes_on->finished)) {
      table.notes.push_back(fmt::format(
          "{} workers: the job does not finish: failures come faster than work gets done.",
          format_count(row.workers)));
    }
  }
  if (rows.empty()) return table;
  const simulate::FailingJob& job = rows.front().job;
  table.notes.push_back(fmt::format(
      "simulated, 200 jobs each: hosts fail independently of each other at exponentially "
      "distributed times; a checkpoint stops training for {}, a restart takes {}, a repair {}.",
      format_seconds(Seconds(job.checkpoint_s)), format_seconds(Seconds(job.restart_s)),
      job.repair_s > 0 ? format_seconds(Seconds(job.repair_s)) : "no time (a spare is ready)"));
  return table;
}

nlohmann::json failure_json(const simulate::JobForecast& row) {
  nlohmann::json json{{"workers", row.workers},
                      {"kind", "simulated"},
                      {"mttf_s", row.job.mttf_s()},
                      {"work_s", row.job.work_s},
                      {"daly_interval_s", simulate::daly_interval_s(row.job)},
                      {"best_interval_s", nullptr},
                      {"interval_s", row.waits.interval_s},
                      {"all_needed", outcome_json(row, row.waits)}};
  if (row.best_interval_s) json["best_interval_s"] = *row.best_interval_s;
  if (row.goes_on) json["fewer"] = outcome_json(row, *row.goes_on);
  return json;
}

}  // namespace lockstep::report
