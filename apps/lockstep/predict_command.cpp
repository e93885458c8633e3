#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal.h"
#include "lockstep/predict/batch_transfer.h"
#include "measured_series.h"
#include "predict_device.h"
#include "predict_epochs.h"
#include "predict_output.h"
#include "predict_phases.h"

namespace lockstep::cli {
namespace {

struct PredictOptions {
  MeasuredSource source;
  std::vector<std::int64_t> workers;
  std::int64_t batch = 0;
  std::int64_t epochs = 0;
  std::int64_t examples = 0;
  std::int64_t nodes = 0;
  DeviceQuestion device;
  PhasesQuestion phases;
  std::string hold_out;
  bool backtest = false;
};

/// Of a series without a prediction: what is missing.
void tell_missing(const GlobalOptions& global, const predict::TableSeries& one,
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

/// The largest count of each series from the others: one object, or row, a series.
void predict_held_out(const GlobalOptions& global, const PredictOptions& options) {
  report::Table table;
  table.columns = {{"series", "", "series", report::Align::kLeft, ""},
                   {"workers", "", "workers", report::Align::kRight, ""},
                   {"metric", "", "metric", report::Align::kLeft, ""},
                   {"predicted", "", "predicted", report::Align::kRight, ""},
                   {"low", "", "low", report::Align::kRight, ""},
                   {"high", "", "high", report::Align::kRight, ""},
                   {"actual", "", "actual", report::Align::kRight, ""}};
  for (predict::TableSeries& one : measured_series(options.source)) {
    if (one.series.points.size() < 2) {
      tell_missing(global, one,
                   one.series.points.empty() ? "no usable measurement"
                                             : "one worker count, so none can be held out");
      continue;
    }
    const predict::ScalingPoint held = one.series.points.back();
    one.series.points.pop_back();
    const auto job = predict::predict_job(one, {.workers = held.workers, .nodes = held.nodes});
    const double actual = predict::value_of(one.metric, one.scaling, held.workers, held.rate);
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

/// One way of holding out: under its key in the JSON, or as a table.
void tell_backtest(const GlobalOptions& global, nlohmann::json& json, const char* key,
                   const std::string& title, const std::vector<predict::HeldOut>& held_out) {
  const predict::Backtest result = predict::summarize_backtest(held_out);
  if (!global.json) {
    fmt::print("{}", json.empty() ? "" : "\n");
    print(backtest_table(result, title));
  }
  json[key] = backtest_json(result);
}

void run_backtest(const GlobalOptions& global, const PredictOptions& options) {
  const auto series = predict::learning_series(measured_series(options.source));
  nlohmann::json json = nlohmann::json::object();
  tell_backtest(global, json, "shipped_prior",
                "largest worker count of each series held out, shipped prior",
                predict::hold_out_largest(series, predict::shipped_prior(), true));
  if (series.size() >= predict::kEnoughForPrior) {
    tell_backtest(global, json, "cross_validated",
                  "the same, prior fitted again without the series' source, model and device",
                  predict::cross_validate_largest(series, predict::Unseen::kGroup));
  }
  if (predict::can_hold_out_sources(series)) {
    tell_backtest(global, json, "source_held_out",
                  "the same, prior fitted again without anything of the series' source: what to "
                  "expect on a source nobody has seen",
                  predict::cross_validate_largest(series, predict::Unseen::kSource));
  }
  if (global.json) print_line(json);
}

/// The series the question is about, moved to another batch where it asks for one.
std::vector<predict::TableSeries> asked_series(const PredictOptions& options) {
  std::vector<predict::TableSeries> all = measured_series(options.source);
  if (!options.device.target.empty()) {
    std::erase_if(all, [&](const auto& one) { return one.device != options.device.target; });
    if (all.empty()) {
      throw Error(ErrorKind::kData,
                  fmt::format("nothing was measured on device '{}'", options.device.target),
                  "name a measured device, or the one to start from with --measured");
    }
  }
  if (options.batch == 0) return all;
  std::vector<predict::TableSeries> same;
  for (const auto& one : all) {
    if (predict::fixed_batch(one) == static_cast<double>(options.batch)) same.push_back(one);
  }
  if (!same.empty()) return same;
  return predict::series_at_batch(all, options.batch);
}

void predict_workers(const GlobalOptions& global, const PredictOptions& options) {
  bool first = true;
  const std::vector<predict::TableSeries> all = asked_series(options);
  const bool several = all.size() > 1;
  for (const predict::TableSeries& one : all) {
    if (several && one.series.points.empty()) {
      tell_missing(global, one, "no usable measurement");
      continue;
    }
    std::vector<predict::JobPrediction> jobs;
    for (const std::int64_t workers : options.workers) {
      predict::JobQuestion question;
      question.workers = static_cast<double>(workers);
      question.nodes = static_cast<int>(options.nodes);
      if (options.epochs > 0) question.epochs = options.epochs;
      if (options.examples > 0) question.examples = options.examples;
      jobs.push_back(predict::predict_job(one, question));
    }
    if (global.json) {
      for (const auto& job : jobs) print_line(job_json(one, job));
    } else {
      fmt::print("{}", first ? "" : "\n");
      print(job_table(one, jobs));
    }
    first = false;
  }
}

void run(const GlobalOptions& global, PredictOptions& options) {
  options.source.store_path = global.store_path;
  if (options.backtest) return run_backtest(global, options);
  if (options.hold_out == "epochs") return predict_held_out_epochs(global, options.source);
  if (!options.hold_out.empty()) return predict_held_out(global, options);
  if (!options.device.measured.empty()) {
    if (options.device.target.empty()) {
      throw Error(ErrorKind::kUsage, "--measured needs the device to predict for",
                  "add --device t4");
    }
    options.device.batch = options.batch;
    options.device.epochs = options.epochs;
    if (!options.workers.empty()) options.device.workers = options.workers.front();
    return predict_across_devices(global, options.source, options.device);
  }
  if (options.phases.run > 0) {
    if (options.workers.empty()) {
      throw Error(ErrorKind::kUsage, "--phases needs --workers", "add --workers 2");
    }
    options.phases.workers = options.workers.front();
    options.phases.nodes = std::max<std::int64_t>(options.nodes, 1);
    return predict_from_phases(global, options.phases);
  }
  if (options.workers.empty()) {
    throw Error(ErrorKind::kUsage, "nothing to predict: no worker count was given",
                "add --workers 4,8, or --hold-out largest, or --backtest");
  }
  predict_workers(global, options);
}

}  // namespace

void add_predict_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App& command =
      add_command(app, "predict", "Say what was not run: other worker counts, batches, devices",
                  {"lockstep predict --workers 4,8,16 --epochs 20",
                   "lockstep predict --from table.csv --workers 16 --batch 128 --json",
                   "lockstep predict --from table.csv --series-column series --hold-out largest",
                   "lockstep predict --from table.csv --hold-out epochs",
                   "lockstep predict --device t4 --measured v100 --network dcgan --batch 256",
                   "lockstep predict --backtest table.csv"});
  auto options = std::make_shared<PredictOptions>();
  command.add_option("--workers,-n", options->workers, "Worker counts to predict")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command.add_option("--nodes", options->nodes, "Hosts that they would run on")
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_option("--batch", options->batch, "Batch per worker (global batch where that is fixed)")
      ->check(CLI::Range(std::int64_t{1}, kMostExamples));
  command.add_option("--epochs", options->epochs, "Epochs of the whole run")
      ->check(CLI::Range(std::int64_t{1}, kMostExamples));
  command.add_option("--examples", options->examples, "Examples of one epoch")
      ->check(CLI::Range(std::int64_t{1}, kMostExamples));
  command.add_option("--device", options->device.target,
                     "Only this device; with --measured, the device to predict for");
  command.add_option("--measured", options->device.measured,
                     "Device to start from: its times are carried over by a roofline");
  command.add_option("--network", options->device.network,
                     "Layer table for --measured; default: the measured model");
  command.add_flag("--layers", options->device.layers, "List the roofline of each layer");
  command.add_option("--phases", options->phases.run,
                     "Predict from the phases of this one-worker run of the store");
  command.add_option(
      "--collectives", options->phases.collectives,
      "Calibration of the link for --phases (CSV: bytes, seconds, workers); default: what "
      "lockstep bench collectives kept in the store");
  command.add_option("--link", options->phases.link,
                     "Latency and bandwidth in place of a calibration: 30us,4GB/s");
  command
      .add_option("--contention", options->phases.contention,
                  "Slowdown of compute when all workers compute at once, for --phases (default: by "
                  "lockstep bench device, else none)")
      ->check(CLI::Range(0.1, 100.0));
  command.add_option("--model", options->source.model, "Only measurements of this model or recipe");
  command.add_option("--study", options->source.study, "Only runs of this study of the store");
  command.add_option("--from", options->source.table, "Measurements table; default: the store");
  command.add_option("--series-column", options->source.series_column,
                     "Column of the table that names the series");
  command
      .add_option("--hold-out", options->hold_out,
                  "Predict what was measured: the largest count from the others, or the longest "
                  "run from the shorter ones")
      ->check(CLI::IsMember({"largest", "epochs"}));
  auto* backtest = command.add_option("--backtest", options->source.table,
                                      "Error and coverage with the largest counts held out");
  backtest->expected(0, 1);
  set_action(command, [&global, options, backtest] {
    options->backtest = backtest->count() > 0;
    run(global, *options);
  });
}

}  // namespace lockstep::cli
