#include "lockstep/report/prediction_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/base/units.h"
#include "lockstep/report/render/estimate_text.h"

namespace lockstep::report {
namespace {

using predict::Estimate;
using predict::JobPrediction;
using predict::TableSeries;

Cell time_cell(const std::optional<Estimate>& time) {
  if (!time) return {};
  return {time_with_interval(*time), time->value};
}

Cell plain_cell(const std::optional<Estimate>& value, int decimals) {
  if (!value) return {};
  return {with_interval(*value, decimals), value->value};
}

std::string measured_counts(const TableSeries& table) {
  std::string text;
  for (const predict::ScalingPoint& point : table.series.points) {
    text += fmt::format("{}{:g}", text.empty() ? "" : ", ", point.workers);
  }
  return text;
}

std::vector<Cell> backtest_row(const std::string& name, const predict::ErrorSummary& errors) {
  return {name, decimal(100 * errors.median, 1), decimal(100 * errors.mean, 1),
          decimal(100 * errors.ninetieth, 1), decimal(100 * errors.within_tenth, 0)};
}

nlohmann::json errors_json(const predict::ErrorSummary& errors) {
  return {{"median", errors.median},
          {"mean", errors.mean},
          {"ninetieth_percentile", errors.ninetieth},
          {"within_10_percent", errors.within_tenth}};
}

nlohmann::json parts_json(const predict::StepParts& parts) {
  return {{"step_time_s", estimate_json(parts.step_s)},
          {"compute_s", parts.compute_s},
          {"input_wait_s", parts.input_wait_s},
          {"other_s", parts.other_s},
          {"exposed_communication_s", estimate_json(parts.exposed_s)}};
}

std::string workers_text(double count) {
  return counted(std::llround(count), "worker");
}

/// "the cost of leaving the host: run 8 workers" names what is open and what would settle it.
std::string open_question(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) return "cannot be determined: " + text;
  return fmt::format("cannot be determined: {}; to settle it, {}", text.substr(0, colon),
                     text.substr(colon + 2));
}

std::string parts_text(const JobPrediction& job, const TableSeries& table) {
  const predict::StepParts& parts = *job.parts;
  const auto time = [](double s) { return format_seconds(Seconds(s)); };
  return fmt::format(
      "step of {}: {} = compute {} + input wait {} + other {} (as measured at {}) + exposed "
      "communication {} ({} to {}, the rest)",
      workers_text(job.scaling.workers), time(parts.step_s.value), time(parts.compute_s),
      time(parts.input_wait_s), time(parts.other_s), workers_text(table.phases.back().workers),
      time(parts.exposed_s.value), time(parts.exposed_s.low), time(parts.exposed_s.high));
}

std::string own_kind(const JobPrediction& job) {
  return job.derived ? "derived" : job.scaling.measured ? "measured" : "predicted";
}

/// The kind of the row's numbers; the total may be of another.
std::string kind_of(const JobPrediction& job) {
  std::string kind = own_kind(job);
  if (!job.total_s || job.total_measured == job.scaling.measured) return kind;
  if (job.total_derived) return kind + ", total derived";
  return kind + (job.total_measured ? ", total measured" : ", total predicted");
}

}  // namespace

std::vector<std::string> interval_notes(double workers, const std::vector<std::string>& width) {
  std::vector<std::string> notes;
  std::string reasons;
  for (const std::string& reason : width) {
    if (reason.starts_with("total time: ")) {
      notes.push_back(reason);
    } else {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  if (!reasons.empty()) {
    notes.push_back(fmt::format("interval at {}: {}", workers_text(workers), reasons));
  }
  return notes;
}

nlohmann::json job_json(const TableSeries& table, const JobPrediction& job) {
  nlohmann::json json{{"series", table.name},
                      {"workers", job.scaling.workers},
                      {"metric", predict::metric_name(table.metric)},
                      {"unit", table.unit},
                      {"scaling", record::scaling_name(table.scaling)},
                      {"scaling_assumed", table.scaling_assumed},
                      {"kind", own_kind(job)},
                      {"predicted", job.metric.value},
                      {"low", job.metric.low},
                      {"high", job.metric.high},
                      {"baseline_workers", job.baseline_workers},
                      {"interval_because", job.scaling.width}};
  const auto add = [&](const char* key, const std::optional<Estimate>& value) {
    if (value) json[key] = estimate_json(*value);
  };
  add("epoch_time_s", job.epoch_s);
  add("total_time_s", job.total_s);
  if (job.total_s) json["total_time_kind"] = job.total_measured ? "measured" : "predicted";
  if (job.epochs > 0) json["epochs"] = job.epochs;
  if (job.parts) json["step"] = parts_json(*job.parts);
  add("throughput_examples_per_s", job.throughput);
  add("speedup", job.speedup);
  add("efficiency", job.efficiency);
  nlohmann::json forms = nlohmann::json::object();
  for (const predict::FormShare& share : job.scaling.shares) {
    forms[std::string(predict::form_name(share.form))] = share.weight;
  }
  json["forms"] = forms;
  std::vector<std::string> unknowns = job.unknowns;
  unknowns.insert(unknowns.end(), job.scaling.unknowns.begin(), job.scaling.unknowns.end());
  json["not_identifiable"] = unknowns;
  return json;
}

Table job_table(const TableSeries& table, const std::vector<JobPrediction>& jobs) {
  Table result;
  const bool one = table.series.points.size() == 1 && table.series.points.front().workers == 1;
  result.title = fmt::format(
      "{} ({} scaling{}, measured at {} worker{}{})", table.name,
      record::scaling_name(table.scaling), table.scaling_assumed ? " assumed" : "",
      measured_counts(table), one ? "" : "s",
      jobs.front().epochs > 0 ? ", total of " + counted(jobs.front().epochs, "epoch") : "");
  const bool other = table.metric == predict::Metric::kOtherRate;
  result.columns = {{"workers", "", "workers", Align::kRight, ""},
                    {"epoch time", "", "epoch_time_s", Align::kRight, ""},
                    {"total time", "", "total_time_s", Align::kRight, ""},
                    {other ? table.unit : "examples/s", "", "throughput", Align::kRight, ""},
                    {"speedup", "", "speedup", Align::kRight, ""},
                    {"efficiency", "", "efficiency", Align::kRight, ""},
                    {"kind", "", "kind", Align::kLeft, ""}};
  std::set<std::string> said;
  const auto note = [&](const std::string& text) {
    if (said.insert(text).second) result.notes.push_back(text);
  };
  for (const JobPrediction& job : jobs) {
    result.rows.push_back(
        {decimal(job.scaling.workers, 0), time_cell(job.epoch_s), time_cell(job.total_s),
         plain_cell(other ? std::optional(job.metric) : job.throughput, 0),
         plain_cell(job.speedup, 2), plain_cell(job.efficiency, 2), kind_of(job)});
    for (const std::string& text : interval_notes(job.scaling.workers, job.scaling.width)) {
      note(text);
    }
    if (job.parts) note(parts_text(job, table));
    for (const std::string& text : job.unknowns) note("unknown: " + text);
    for (const std::string& text : job.scaling.unknowns) note(open_question(text));
  }
  if (table.scaling_assumed && table.series.points.size() > 1) {
    note(
        "unknown: which scaling it is, because nothing states the batch per worker or the global "
        "batch; a fixed batch per worker is assumed (lockstep import states it with --set batch=N, "
        "--set global_batch=N or, for tables, --set batch_of=worker or all)");
  }
  for (const std::string& text : table.series.notes) note(text);
  note(fmt::format("in brackets: 90 % intervals; speedup and efficiency are derived, against {}",
                   workers_text(jobs.front().baseline_workers)));
  return result;
}

Table backtest_table(const predict::Backtest& result, const std::string& title) {
  Table table;
  table.title = title;
  table.columns = {{"predictor", "", "predictor", Align::kLeft, ""},
                   {"median error", "%", "median_error_percent", Align::kRight,
                    "of |predicted - actual| / actual in throughput, at most 100 %"},
                   {"mean", "%", "mean_error_percent", Align::kRight, ""},
                   {"90th percentile", "%", "ninetieth_percentile_percent", Align::kRight, ""},
                   {"within 10 %", "%", "within_10_percent", Align::kRight,
                    "part of the series with an error of at most 10 %"}};
  table.rows.push_back(backtest_row("lockstep", result.ours));
  for (std::size_t m = 0; m < result.classic.size(); ++m) {
    table.rows.push_back(
        backtest_row(std::string(predict::classic_name(static_cast<predict::ClassicModel>(m))),
                     result.classic[m]));
  }
  table.notes.push_back(
      fmt::format("{} series; 90 % intervals covered {:.1f} % of them, median width {:.1f} % of "
                  "the prediction; "
                  "the other predictors have none",
                  result.series, 100 * result.coverage, 100 * result.median_width));
  std::string levels;
  for (std::size_t i = 0; i < result.covered.size(); ++i) {
    levels +=
        fmt::format("{}{} % {:.0f} %", i == 0 ? "" : ", ", 10 * (i + 1), 100 * result.covered[i]);
  }
  table.notes.push_back("calibration, stated and covered: " + levels);
  if (result.above_twice > 0) {
    table.notes.push_back(
        fmt::format("each error counts as at most 100 %: {} series had less than half of the "
                    "predicted throughput; without this limit, the mean is {:.1f} %",
                    result.above_twice, 100 * result.uncapped_mean));
  }
  return table;
}

nlohmann::json backtest_json(const predict::Backtest& result) {
  nlohmann::json json{{"series", result.series},
                      {"coverage", result.coverage},
                      {"median_width", result.median_width},
                      {"calibration", result.covered},
                      {"mean_uncapped", result.uncapped_mean},
                      {"lockstep", errors_json(result.ours)}};
  for (std::size_t m = 0; m < result.classic.size(); ++m) {
    json[std::string(predict::classic_name(static_cast<predict::ClassicModel>(m)))] =
        errors_json(result.classic[m]);
  }
  return json;
}

Table backtest_parts_table(const std::vector<predict::PartOfBacktest>& parts,
                           const std::string& part) {
  Table table;
  table.columns = {
      {part, "", part, Align::kLeft, ""},
      {"series", "", "series", Align::kRight, ""},
      {"median error", "%", "median_error_percent", Align::kRight, "of lockstep"},
      {"90th", "%", "ninetieth_percentile_percent", Align::kRight, "of lockstep"},
      {"covered", "%", "covered_percent", Align::kRight, "by the 90 % intervals"},
      {"width", "%", "median_width_percent", Align::kRight, "median, of the prediction"},
      {"mean error", "%", "mean_error_percent", Align::kRight, "of lockstep"}};
  for (int m = 0; m < predict::kClassicCount; ++m) {
    const std::string name(predict::classic_name(static_cast<predict::ClassicModel>(m)));
    table.columns.push_back({name, "%", name + "_mean_percent", Align::kRight, "mean error"});
  }
  for (const predict::PartOfBacktest& one : parts) {
    const predict::Backtest& result = one.result;
    std::vector<Cell> row{one.name,
                          decimal(static_cast<double>(result.series), 0),
                          decimal(100 * result.ours.median, 1),
                          decimal(100 * result.ours.ninetieth, 1),
                          decimal(100 * result.coverage, 0),
                          decimal(100 * result.median_width, 0),
                          decimal(100 * result.ours.mean, 1)};
    for (const predict::ErrorSummary& classic : result.classic) {
      row.push_back(decimal(100 * classic.mean, 1));
    }
    table.rows.push_back(std::move(row));
  }
  table.notes.push_back("mean errors, of lockstep and of each textbook form, capped at 100 %");
  return table;
}

}  // namespace lockstep::report
