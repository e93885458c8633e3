#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line/command.h"
#include "decide/measured_series.h"
#include "decide/predict_holdout.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/collect/calibrated_device.h"
#include "lockstep/collect/phases_prediction.h"
#include "lockstep/predict/devices/batch_transfer.h"
#include "lockstep/predict/devices/device_transfer.h"
#include "lockstep/predict/devices/network_cost.h"
#include "lockstep/predict/job_prediction.h"
#include "lockstep/report/device_tables.h"
#include "lockstep/report/phases_text.h"
#include "lockstep/report/prediction_tables.h"

namespace lockstep::cli {
namespace {

struct PredictOptions {
  MeasuredSource source;
  std::vector<std::int64_t> workers;
  std::int64_t batch = 0;
  std::int64_t epochs = 0;
  std::int64_t examples = 0;
  std::int64_t nodes = 0;
  double parameters = 0;  ///< of the network; 0 = those of a known one
  std::string device;     ///< to predict for, or to keep to
  std::string measured;   ///< device to start from
  predict::DeviceQuestion across;
  bool layers = false;  ///< list those of the roofline
  collect::PhasesQuestion phases;
  std::string hold_out;
  bool backtest = false;
};

/// The series the question is about, moved to another batch where it asks for one.
std::vector<predict::TableSeries> asked_series(const PredictOptions& options) {
  std::vector<predict::TableSeries> all = measured_series(options.source);
  if (!options.device.empty()) {
    std::erase_if(all, [&](const auto& one) { return one.device != options.device; });
    if (all.empty()) {
      throw Error(ErrorKind::kData, fmt::format("no measurements on device '{}'", options.device),
                  "choose a measured device, or give the one to start from with --measured");
    }
  }
  if (options.batch == 0) return all;
  std::vector<predict::TableSeries> same;
  for (const auto& one : all) {
    const bool any_batch = one.scaling == record::Scaling::kMixed;
    if (any_batch || predict::fixed_batch(one) == static_cast<double>(options.batch)) {
      same.push_back(one);
    }
  }
  if (!same.empty()) return same;
  return predict::series_at_batch(all, options.batch);
}

/// The gradients and the link where --link states it. Networks of the recipes are known.
std::optional<predict::KnownTraffic> known_traffic(const PredictOptions& options,
                                                   const predict::TableSeries& one) {
  if (options.phases.link.empty()) return std::nullopt;
  constexpr double kBytesPerParameter = 4;
  double parameters = options.parameters;
  if (parameters == 0) {
    try {
      parameters = predict::training_cost(one.model).parameters();
    } catch (const Error&) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--link needs the size of the network, and that of '{}' is unknown",
                              one.model),
                  "add --parameters 25.6e6");
    }
  }
  const LinkText link = parse_link(options.phases.link);
  return predict::KnownTraffic{kBytesPerParameter * parameters, link.latency_s, link.bytes_per_s};
}

/// Those that were asked for; by default twice and four times the largest measured count.
std::vector<double> counts_to_predict(const PredictOptions& options,
                                      const predict::TableSeries& series) {
  if (!options.workers.empty()) return {options.workers.begin(), options.workers.end()};
  const double largest = series.series.points.empty() ? 1 : series.series.points.back().workers;
  return {2 * largest, 4 * largest};
}

void predict_workers(const GlobalOptions& global, const PredictOptions& options) {
  bool first = true;
  const std::vector<predict::TableSeries> all = asked_series(options);
  const bool several = all.size() > 1;
  for (const predict::TableSeries& one : all) {
    if (several && one.series.points.empty()) {
      report_missing(global, one, "no usable measurement");
      continue;
    }
    std::vector<predict::JobPrediction> jobs;
    for (const double workers : counts_to_predict(options, one)) {
      predict::JobQuestion question;
      question.workers = workers;
      question.nodes = static_cast<int>(options.nodes);
      if (one.scaling == record::Scaling::kMixed)
        question.batch = static_cast<double>(options.batch);
      if (options.epochs > 0) question.epochs = options.epochs;
      if (options.examples > 0) question.examples = options.examples;
      question.traffic = known_traffic(options, one);
      jobs.push_back(predict::predict_job(one, question));
    }
    if (global.json) {
      for (const auto& job : jobs) print_line(report::job_json(one, job));
    } else {
      fmt::print("{}", first ? "" : "\n");
      print(report::job_table(one, jobs));
    }
    first = false;
  }
}

/// Series measured on the device; none when there is no table and no store.
std::vector<predict::TableSeries> series_on(const MeasuredSource& source,
                                            const predict::Device& device) {
  if (source.table.empty() && !std::filesystem::exists(source.store_path)) return {};
  std::vector<predict::TableSeries> all;
  try {
    all = measured_series(source);
  } catch (const Error& error) {
    // A store of calibrations alone has no runs: the ratio of the devices is still known.
    const bool whole_store = source.table.empty() && source.model.empty() && source.study.empty();
    if (!whole_store || error.kind() != ErrorKind::kData) throw;
  }
  std::erase_if(all, [&](const auto& one) { return !predict::measured_on(one.device, device); });
  return all;
}

void predict_across_devices(const GlobalOptions& global, const PredictOptions& options) {
  if (options.device.empty()) {
    throw Error(ErrorKind::kUsage, "--measured needs the device to predict for", "add --device t4");
  }
  predict::DeviceQuestion question = options.across;
  question.batch = options.batch;
  question.epochs = options.epochs;
  if (!options.workers.empty()) question.workers = options.workers.front();
  const predict::Device from = collect::device_named(options.measured, global.store_path);
  const predict::Device to = collect::device_named(options.device, global.store_path);
  const predict::DeviceTransfer transfer =
      predict::transfer_to_device(series_on(options.source, from), from, to, question);
  if (global.json) return print_line(report::transfer_json(transfer, question.workers));
  if (options.layers) print(report::layers_table(transfer));
  fmt::print("{}{}", options.layers ? "\n" : "", report::transfer_text(transfer, question.workers));
}

void predict_from_phases(const GlobalOptions& global, const PredictOptions& options) {
  if (options.workers.empty()) {
    throw Error(ErrorKind::kUsage, "--phases needs --workers", "add --workers 2");
  }
  collect::PhasesQuestion question = options.phases;
  question.workers.nodes = std::max<std::int64_t>(options.nodes, 1);
  for (const std::int64_t workers : options.workers) {
    question.workers.workers = workers;
    const auto predicted = collect::predict_from_phases(global.store_path, question);
    if (global.json) {
      print_line(report::phases_json(predicted));
    } else {
      fmt::print("{}{}", workers == options.workers.front() ? "" : "\n",
                 report::phases_text(predicted));
    }
  }
}

void run(const GlobalOptions& global, PredictOptions& options) {
  options.source.store_path = global.store_path;
  if (options.backtest) return run_backtest(global, options.source);
  if (options.hold_out == "epochs") return predict_held_out_epochs(global, options.source);
  if (!options.hold_out.empty()) return predict_held_out(global, options.source);
  if (!options.measured.empty()) return predict_across_devices(global, options);
  if (options.phases.run > 0) return predict_from_phases(global, options);
  if (options.parameters > 0 && options.phases.link.empty()) {
    throw Error(ErrorKind::kUsage, "--parameters has no effect without --link",
                "add --link 30us,4GB/s");
  }
  predict_workers(global, options);
}

}  // namespace

void add_predict_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App& command = add_command(
      app, "predict",
      "Predicts worker counts, batches and devices that were not measured, with intervals.",
      {"lockstep predict", "lockstep predict --workers 4,8,16 --epochs 20",
       "lockstep predict --from table.csv --workers 16 --batch 128 --json",
       "lockstep predict --from table.csv --series-column series --hold-out largest",
       "lockstep predict --from table.csv --hold-out epochs",
       "lockstep predict --device t4 --measured v100 --network dcgan --batch 256",
       "lockstep predict --backtest table.csv"});
  auto options = std::make_shared<PredictOptions>();
  command
      .add_option("--workers,-n", options->workers,
                  "Worker counts to predict (default: 2 and 4 times the largest measured one)")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command.add_option("--nodes", options->nodes, "Hosts that the workers would run on")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--batch", options->batch, "Batch per worker (global batch if that is fixed)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, kMostExamples));
  add_job_options(command, options->epochs, options->examples);
  command
      .add_option("--device", options->device,
                  "Only this device; with --measured, the device to predict for")
      ->type_name("NAME");
  command
      .add_option("--measured", options->measured,
                  "Device to start from: its times are converted with a roofline model")
      ->type_name("NAME");
  command
      .add_option("--network", options->across.network,
                  "Layer table for --measured; default: the measured model")
      ->type_name("NAME");
  command.add_flag("--layers", options->layers, "List the roofline of each layer");
  command
      .add_option("--phases", options->phases.run,
                  "Predict from the phases of this run of the store, of one worker or several")
      ->type_name("RUN");
  command
      .add_option("--collectives", options->phases.collectives,
                  "Calibration of the link for --phases (CSV: bytes, seconds, workers); "
                  "default: the calibration of lockstep bench collectives in the store")
      ->type_name("FILE");
  command
      .add_option(
          "--link", options->phases.link,
          "Latency and bandwidth of the link for the gradients: 30us,4GB/s; with --phases in "
          "place of a calibration")
      ->type_name("LINK");
  command
      .add_option("--parameters", options->parameters,
                  "Parameters of the network, for --link (default: those of the recipe)")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e15));
  command
      .add_option("--machines", options->phases.workers.machines,
                  "Machines that the hosts of --nodes run on, for --phases: namespaces, containers "
                  "and virtual machines share cores (default: one each)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_option("--contention", options->phases.workers.contention,
                  "Slowdown of compute when all workers compute at once, for --phases (default: as "
                  "measured by lockstep bench device, else none)")
      ->type_name("X")
      ->check(CLI::Range(0.1, 100.0));
  add_source_options(command, options->source);
  command
      .add_option("--hold-out", options->hold_out,
                  "Predict measured values: the largest count from the others, or the longest run "
                  "from the shorter ones")
      ->type_name("largest|epochs")
      ->check(CLI::IsMember({"largest", "epochs"}));
  auto* backtest = command
                       .add_option("--backtest", options->source.table,
                                   "Error and coverage with the largest counts held out")
                       ->type_name("[FILE]");
  backtest->expected(0, 1);
  set_action(command, [&global, options, backtest] {
    options->backtest = backtest->count() > 0;
    run(global, *options);
  });
}

}  // namespace lockstep::cli
