#include "predict_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/base/units.h"

namespace lockstep::cli {
namespace {

using predict::Estimate;
using predict::JobPrediction;
using predict::TableSeries;

report::Cell time_cell(const std::optional<Estimate>& time) {
  if (!time) return {};
  return {time_with_interval(*time), time->value};
}

report::Cell plain_cell(const std::optional<Estimate>& value, int decimals) {
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

std::vector<report::Cell> backtest_row(const std::string& name,
                                       const predict::ErrorSummary& errors) {
  return {name, report::decimal(100 * errors.median, 1), report::decimal(100 * errors.mean, 1),
          report::decimal(100 * errors.ninetieth, 1),
          report::decimal(100 * errors.within_tenth, 0)};
}

nlohmann::json errors_json(const predict::ErrorSummary& errors) {
  return {{"median", errors.median},
          {"mean", errors.mean},
          {"ninetieth_percentile", errors.ninetieth},
          {"within_10_percent", errors.within_tenth}};
}

}  // namespace

std::string time_with_interval(const Estimate& time) {
  return fmt::format("{} ({} to {})", format_seconds(Seconds(time.value)),
                     format_seconds(Seconds(time.low)), format_seconds(Seconds(time.high)));
}

std::string with_interval(const Estimate& value, int decimals) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", value.value, decimals, value.low, decimals,
                     value.high, decimals);
}

nlohmann::json estimate_json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

nlohmann::json job_json(const TableSeries& table, const JobPrediction& job) {
  nlohmann::json json{{"series", table.name},
                      {"workers", job.scaling.workers},
                      {"metric", predict::metric_name(table.metric)},
                      {"unit", table.unit},
                      {"scaling", table.scaling == predict::Scaling::kWeak ? "weak" : "strong"},
                      {"kind", job.scaling.measured ? "measured" : "predicted"},
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

report::Table job_table(const TableSeries& table, const std::vector<JobPrediction>& jobs) {
  using report::Align;
  report::Table result;
  result.title = fmt::format(
      "{} ({} scaling, measured at {} worker{})", table.name,
      table.scaling == predict::Scaling::kWeak ? "weak" : "strong", measured_counts(table),
      table.series.points.size() == 1 && table.series.points.front().workers == 1 ? "" : "s");
  result.columns = {{"workers", "", "workers", Align::kRight, ""},
                    {"epoch time", "", "epoch_time_s", Align::kRight, ""},
                    {"total time", "", "total_time_s", Align::kRight, ""},
                    {"examples/s", "", "throughput", Align::kRight, ""},
                    {"speedup", "", "speedup", Align::kRight, ""},
                    {"efficiency", "", "efficiency", Align::kRight, ""},
                    {"", "", "kind", Align::kLeft, ""}};
  std::set<std::string> said;
  const auto note = [&](const std::string& text) {
    if (said.insert(text).second) result.notes.push_back(text);
  };
  for (const JobPrediction& job : jobs) {
    result.rows.push_back({report::decimal(job.scaling.workers, 0), time_cell(job.epoch_s),
                           time_cell(job.total_s), plain_cell(job.throughput, 0),
                           plain_cell(job.speedup, 2), plain_cell(job.efficiency, 2),
                           job.scaling.measured ? "measured" : "predicted"});
    for (const std::string& reason : job.scaling.width) {
      note(fmt::format("{:g} workers: {}", job.scaling.workers, reason));
    }
    for (const std::string& text : job.unknowns) note("not known: " + text);
    for (const std::string& text : job.scaling.unknowns) note("would settle " + text);
  }
  for (const std::string& text : table.series.notes) note(text);
  note(fmt::format("intervals hold 9 of 10 times; speedup is against {:g} worker{}",
                   jobs.front().baseline_workers, jobs.front().baseline_workers == 1 ? "" : "s"));
  return result;
}

report::Table backtest_table(const predict::Backtest& result, const std::string& title) {
  using report::Align;
  report::Table table;
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
  table.notes.push_back(fmt::format(
      "{} series; 90 % intervals held {:.1f} % of them, median width {:.1f} % of the prediction; "
      "the other predictors state none",
      result.series, 100 * result.coverage, 100 * result.median_width));
  return table;
}

nlohmann::json backtest_json(const predict::Backtest& result) {
  nlohmann::json json{{"series", result.series},
                      {"coverage", result.coverage},
                      {"median_width", result.median_width},
                      {"lockstep", errors_json(result.ours)}};
  for (std::size_t m = 0; m < result.classic.size(); ++m) {
    json[std::string(predict::classic_name(static_cast<predict::ClassicModel>(m)))] =
        errors_json(result.classic[m]);
  }
  return json;
}

}  // namespace lockstep::cli
