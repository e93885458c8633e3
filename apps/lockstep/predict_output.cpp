#include "predict_output.h"

#include <fmt/format.h>

#include <functional>
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

nlohmann::json parts_json(const predict::StepParts& parts) {
  return {{"step_time_s", estimate_json(parts.step_s)},
          {"compute_s", parts.compute_s},
          {"input_wait_s", parts.input_wait_s},
          {"other_s", parts.other_s},
          {"exposed_communication_s", estimate_json(parts.exposed_s)}};
}

std::string workers_text(double count) {
  return fmt::format("{:g} worker{}", count, count == 1 ? "" : "s");
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
  const std::string kind = own_kind(job);
  if (!job.total_s || job.total_measured == job.scaling.measured) return kind;
  return kind + (job.total_measured ? ", total measured" : ", total predicted");
}

/// Why the interval is as wide as it is: one note for the count, one for its total time.
void note_width(const JobPrediction& job, const std::function<void(const std::string&)>& note) {
  std::string reasons;
  for (const std::string& reason : job.scaling.width) {
    if (reason.rfind("total time: ", 0) == 0) {
      note(reason);
    } else {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  note(fmt::format("interval at {}: {}", workers_text(job.scaling.workers), reasons));
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

std::string significant_with_interval(const Estimate& value) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", value.value, value.low, value.high);
}

void print_line(const nlohmann::json& json) {
  // Names come from files, in any encoding.
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json estimate_json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
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

report::Table job_table(const TableSeries& table, const std::vector<JobPrediction>& jobs) {
  using report::Align;
  report::Table result;
  const bool one = table.series.points.size() == 1 && table.series.points.front().workers == 1;
  result.title = fmt::format(
      "{} ({} scaling{}, measured at {} worker{}{})", table.name,
      record::scaling_name(table.scaling), table.scaling_assumed ? " assumed" : "",
      measured_counts(table), one ? "" : "s",
      jobs.front().epochs > 0 ? fmt::format(", total of {} epoch{}", jobs.front().epochs,
                                            jobs.front().epochs == 1 ? "" : "s")
                              : "");
  result.columns = {{"workers", "", "workers", Align::kRight, ""},
                    {"epoch time", "", "epoch_time_s", Align::kRight, ""},
                    {"total time", "", "total_time_s", Align::kRight, ""},
                    {"examples/s", "", "throughput", Align::kRight, ""},
                    {"speedup", "", "speedup", Align::kRight, ""},
                    {"efficiency", "", "efficiency", Align::kRight, ""},
                    {"kind", "", "kind", Align::kLeft, ""}};
  std::set<std::string> said;
  const auto note = [&](const std::string& text) {
    if (said.insert(text).second) result.notes.push_back(text);
  };
  for (const JobPrediction& job : jobs) {
    result.rows.push_back({report::decimal(job.scaling.workers, 0), time_cell(job.epoch_s),
                           time_cell(job.total_s), plain_cell(job.throughput, 0),
                           plain_cell(job.speedup, 2), plain_cell(job.efficiency, 2),
                           kind_of(job)});
    note_width(job, note);
    if (job.parts) note(parts_text(job, table));
    for (const std::string& text : job.unknowns) note("not known: " + text);
    for (const std::string& text : job.scaling.unknowns) note(open_question(text));
  }
  if (table.scaling_assumed && table.series.points.size() > 1) {
    note(
        "not known: which scaling it is, as no batch is told; a fixed batch per worker is assumed "
        "(import with --set batch=N or --set global_batch=N to say it)");
  }
  for (const std::string& text : table.series.notes) note(text);
  note(fmt::format("in brackets: 90 % intervals; speedup and efficiency are derived, against {}",
                   workers_text(jobs.front().baseline_workers)));
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
  if (result.above_twice > 0) {
    table.notes.push_back(fmt::format(
        "each error counts at most as 100 %: {} series came out at less than half of what was "
        "predicted; counted in full, the mean is {:.1f} %",
        result.above_twice, 100 * result.uncapped_mean));
  }
  return table;
}

nlohmann::json backtest_json(const predict::Backtest& result) {
  nlohmann::json json{{"series", result.series},
                      {"coverage", result.coverage},
                      {"median_width", result.median_width},
                      {"mean_uncapped", result.uncapped_mean},
                      {"lockstep", errors_json(result.ours)}};
  for (std::size_t m = 0; m < result.classic.size(); ++m) {
    json[std::string(predict::classic_name(static_cast<predict::ClassicModel>(m)))] =
        errors_json(result.classic[m]);
  }
  return json;
}

}  // namespace lockstep::cli
