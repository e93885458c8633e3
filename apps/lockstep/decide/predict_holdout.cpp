#include "decide/predict_holdout.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"
#include "lockstep/predict/duration/whole_run_holdout.h"
#include "lockstep/report/prediction_tables.h"
#include "lockstep/report/render/estimate_text.h"

namespace lockstep::cli {
namespace {

report::Cell error_cell(double predicted, double actual) {
  return {fmt::format("{:+.1f}", 100 * (predicted / actual - 1)), predicted / actual - 1};
}

/// One way of holding out: under its key in the JSON, or as a table.
void print_backtest(const GlobalOptions& global, nlohmann::json& json, const char* key,
                    const std::string& title, const std::vector<predict::HeldOut>& held_out) {
  const predict::Backtest result = predict::summarize_backtest(held_out);
  if (!global.json) {
    fmt::print("{}", json.empty() ? "" : "\n");
    print(report::backtest_table(result, title));
  }
  json[key] = report::backtest_json(result);
  const std::pair<const char*, std::string predict::HeldOut::*> parts[] = {
      {"kind", &predict::HeldOut::kind}, {"source", &predict::HeldOut::source}};
  for (const auto& [name, part_of] : parts) {
    const auto by = predict::backtest_by(held_out, part_of);
    if (by.empty()) continue;
    if (!global.json) {
      fmt::print("\n");
      print(report::backtest_parts_table(by, name));
    }
    for (const auto& one : by) {
      json[key][std::string("by_") + name][one.name] = report::backtest_json(one.result);
    }
  }
}

}  // namespace

void report_missing(const GlobalOptions& global, const predict::TableSeries& one,
                    const std::string& has) {
  fmt::print(stderr, "warning: series '{}' has {}\n", one.name, has);
  if (!global.json) return;
  const nlohmann::json line{{"series", one.name},
                            {"workers", nullptr},
                            {"metric", predict::metric_name(one.metric)},
                            {"predicted", nullptr},
                            {"low", nullptr},
                            {"high", nullptr},
                            {"actual", nullptr},
                            {"reason", "the series has " + has}};
  print_line(line);
}

void predict_held_out(const GlobalOptions& global, const MeasuredSource& source) {
  report::Table table;
  table.columns = {{"series", "", "series", report::Align::kLeft, ""},
                   {"workers", "", "workers", report::Align::kRight, ""},
                   {"metric", "", "metric", report::Align::kLeft, ""},
                   {"predicted", "", "predicted", report::Align::kRight, ""},
                   {"low", "", "low", report::Align::kRight, ""},
                   {"high", "", "high", report::Align::kRight, ""},
                   {"actual", "", "actual", report::Align::kRight, ""}};
  for (predict::TableSeries& one : measured_series(source)) {
    if (one.series.points.size() < 2) {
      report_missing(global, one,
                     one.series.points.empty() ? "no usable measurement"
                                               : "one worker count, so none can be held out");
      continue;
    }
    const predict::ScalingPoint held = one.series.points.back();
    one.series.points.pop_back();
    const auto job = predict::predict_job(
        one, {.workers = held.workers, .nodes = held.nodes, .batch = held.batch});
    const double actual =
        predict::value_of(one.metric, one.scaling, held.workers, held.rate, held.batch);
    if (global.json) {
      nlohmann::json line{{"series", one.name},
                          {"workers", static_cast<std::int64_t>(held.workers)},
                          {"metric", predict::metric_name(one.metric)},
                          {"unit", one.unit},
                          {"predicted", job.metric.value},
                          {"low", job.metric.low},
                          {"high", job.metric.high},
                          {"actual", actual}};
      if (!one.series.notes.empty()) line["notes"] = one.series.notes;
      print_line(line);
    } else {
      table.rows.push_back({one.name, report::decimal(held.workers, 0),
                            std::string(predict::metric_name(one.metric)),
                            report::significant(job.metric.value),
                            report::significant(job.metric.low),
                            report::significant(job.metric.high), report::significant(actual)});
    }
  }
  if (!global.json) print(table);
}

void run_backtest(const GlobalOptions& global, const MeasuredSource& source) {
  const auto series = predict::learning_series(measured_series(source));
  nlohmann::json json = nlohmann::json::object();
  print_backtest(global, json, "shipped_prior",
                 "largest worker count of each series held out, shipped prior",
                 predict::hold_out_largest(series, predict::shipped_prior(), true));
  if (series.size() >= predict::kEnoughForPrior) {
    print_backtest(global, json, "cross_validated",
                   "the same, prior fitted again without the series' source, model and device",
                   predict::cross_validate_largest(series, predict::Unseen::kGroup));
  }
  if (predict::can_hold_out_sources(series)) {
    print_backtest(global, json, "source_held_out",
                   "the same, prior fitted again without any data from the series' source: what to "
                   "expect on an unseen source",
                   predict::cross_validate_largest(series, predict::Unseen::kSource));
  }
  if (global.json) print_line(json);
}

void predict_held_out_epochs(const GlobalOptions& global, const MeasuredSource& source) {
  using report::Align;
  report::Table table;
  table.title = "total time of the longest run, predicted from the shorter ones";
  table.columns = {{"series", "", "series", Align::kLeft, ""},
                   {"workers", "", "workers", Align::kRight, ""},
                   {"epochs", "", "epochs", Align::kRight, ""},
                   {"predicted", "", "predicted_s", Align::kRight, ""},
                   {"measured", "", "actual_s", Align::kRight, ""},
                   {"error", "%", "error_percent", Align::kRight, ""},
                   {"scaled up", "%", "scaled_up_error_percent", Align::kRight,
                    "error of the shortest run x the ratio of epochs"}};
  for (const predict::HeldOutTotal& one : predict::hold_out_longest_runs(measured_series(source))) {
    if (global.json) {
      const nlohmann::json line{{"series", one.series},
                                {"workers", static_cast<std::int64_t>(one.actual.workers)},
                                {"epochs", one.actual.epochs},
                                {"metric", "total_time"},
                                {"unit", "s"},
                                {"predicted", one.predicted.value},
                                {"low", one.predicted.low},
                                {"high", one.predicted.high},
                                {"actual", one.actual.seconds}};
      print_line(line);
      continue;
    }
    table.rows.push_back(
        {one.series, report::decimal(one.actual.workers, 0),
         report::decimal(static_cast<double>(one.actual.epochs), 0),
         report::Cell(report::time_with_interval(one.predicted), one.predicted.value),
         report::Cell(format_seconds(Seconds(one.actual.seconds)), one.actual.seconds),
         error_cell(one.predicted.value, one.actual.seconds),
         error_cell(one.scaled_up, one.actual.seconds)});
  }
  if (global.json) return;
  print(table);
}

}  // namespace lockstep::cli
