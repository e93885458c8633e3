#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command_line/command.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/collectives_run.h"
#include "lockstep/launch/worker_answer.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/measure/machine.h"
#include "lockstep/predict/phases/link_calibration.h"
#include "lockstep/report/bench_tables.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/study/plan/sweep.h"
#include "measure/launcher_options.h"

namespace lockstep::cli {
namespace {

constexpr Seconds kBenchTimeout{120};
constexpr std::int64_t kMostBenchWorkers = 256;

struct BenchOptions {
  std::string workers;
  std::string backends;
  std::string most = "64MB";
  double seconds = 0.3;
  bool oversubscribe = false;
  std::string threads;
  bool no_keep = false;
  std::string interface;
  launch::LauncherOptions launcher;
};

void show(Console& console, const GlobalOptions& global, const report::Table& table) {
  console.out(report::render(table, global.json ? report::Format::kJson : report::Format::kText,
                             {.width = terminal_width()}));
}

std::vector<record::Backend> backends_to_try(const BenchOptions& options, const Clock& clock) {
  std::vector<record::Backend> backends;
  if (!options.backends.empty()) {
    for (const std::string& name : study::parse_names(options.backends, "--backend")) {
      backends.push_back(record::parse_choice<record::Backend>("--backend", name));
    }
    return backends;
  }
  // Between hosts; hosts with several workers each are for --backend hierarchical.
  if (!options.launcher.local()) return {record::Backend::kGloo};
  const auto answer = nlohmann::json::parse(launch::worker_answer({"probe"}, kBenchTimeout, clock));
  for (const std::string& name : answer.value("backends", std::vector<std::string>{})) {
    backends.push_back(record::recorded_choice<record::Backend>(name));
  }
  return backends;
}

std::vector<std::int64_t> counts_to_try(const std::string& given, const char* option,
                                        std::int64_t least) {
  if (!given.empty()) return study::parse_counts(given, option, kMostBenchWorkers);
  const auto cores = static_cast<std::int64_t>(measure::usable_cores().size());
  std::vector<std::int64_t> counts;
  for (std::int64_t count = least; count <= cores; count *= 2) counts.push_back(count);
  if (counts.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("this machine has only {} core", cores),
                fmt::format("add {} {} --oversubscribe", option, least));
  }
  return counts;
}

void bench_collectives(const GlobalOptions& global, const BenchOptions& options) {
  const SystemClock clock;
  Console console(clock);
  launch::SignalInbox signals;
  launch::CollectivesRequest request;
  request.most = parse_bytes(options.most, "--max");
  request.seconds_per_size = options.seconds;
  request.oversubscribe = options.oversubscribe;
  request.interface = options.interface;
  request.launcher = options.launcher;
  launch::check_launcher_options(request.launcher);
  if (!request.launcher.local() && options.workers.empty()) {
    throw Error(ErrorKind::kUsage, "--launcher needs the number of workers", "add --workers 2,4");
  }
  const record::Machine machine = measure::describe_machine();
  std::vector<std::string> unusable;
  std::optional<Error> first_problem;
  int shown = 0;
  for (const std::int64_t workers : counts_to_try(options.workers, "--workers", 2)) {
    if (workers < 2) {
      throw Error(ErrorKind::kUsage, "an all-reduce needs at least two workers",
                  "give --workers 2");
    }
    for (const record::Backend backend : backends_to_try(options, clock)) {
      request.workers = static_cast<int>(workers);
      request.backend = backend;
      record::CollectivesResult result;
      try {
        result = launch::run_collectives(request, console, signals, clock);
      } catch (const Error& error) {
        // A back end that this machine cannot use does not keep the others from being measured.
        if (!options.backends.empty() || error.kind() == ErrorKind::kInterrupted) throw;
        if (!first_problem) first_problem = error;
        unusable.push_back(
            fmt::format("{} on {} workers: {}", record::name_of(backend), workers, error.what()));
        continue;
      }
      const record::LinkCalibration link =
          predict::fit_calibration(result, request.backend, request.workers, machine, clock.wall());
      show(console, global, report::collectives_table(result, link));
      if (result.wrong() > 0) {
        throw Error(
            ErrorKind::kWorker,
            fmt::format("{} elements of the sums over {} are wrong; the result is not stored",
                        result.wrong(), record::name_of(backend)),
            "do not train with this back end, and report this");
      }
      if (!options.no_keep) store::add_calibration(global.store_path, link);
      ++shown;
    }
  }
  // What is wrong with the options is wrong for every back end.
  if (shown == 0 && first_problem && first_problem->kind() == ErrorKind::kUsage) {
    throw *first_problem;
  }
  for (const std::string& sentence : unusable) console.err("note: not measured: " + sentence);
  if (shown == 0) {
    throw Error(ErrorKind::kEnvironment, "no back end could be measured",
                "run lockstep doctor to see why");
  }
}

void bench_device(const GlobalOptions& global, const BenchOptions& options) {
  const SystemClock clock;
  Console console(clock);
  const record::Machine machine = measure::describe_machine();
  std::vector<record::DeviceCalibration> devices;
  for (const std::int64_t threads : counts_to_try(options.threads, "--threads", 1)) {
    console.set_status(fmt::format("measuring with {} ...", counted(threads, "thread")));
    const auto answer =
        nlohmann::json::parse(launch::worker_answer({"device", fmt::format("--threads={}", threads),
                                                     fmt::format("--seconds={}", options.seconds)},
                                                    kBenchTimeout, clock));
    record::DeviceCalibration device;
    device.machine = machine;
    device.device = answer.value("device", "cpu");
    device.threads = answer.value("threads", static_cast<int>(threads));
    device.flops = answer.value("flops", 0.0);
    device.bytes_per_s = answer.value("bytes_per_s", 0.0);
    device.gemm = answer.value("gemm", "");
    device.measured_wall_ns = clock.wall();
    if (!options.no_keep) store::add_calibration(global.store_path, device);
    devices.push_back(std::move(device));
  }
  console.clear_status();
  show(console, global, report::device_table(devices));
}

void bench_list(const GlobalOptions& global) {
  const SystemClock clock;
  Console console(clock);
  const store::Calibrations known = store::calibrations(global.store_path);
  if (known.links.empty() && known.devices.empty()) {
    throw Error(ErrorKind::kData, fmt::format("no calibrations in {}", global.store_path),
                "measure them with lockstep bench collectives and lockstep bench device");
  }
  if (!known.links.empty()) show(console, global, report::links_table(known.links));
  if (!known.devices.empty()) show(console, global, report::device_table(known.devices));
}

}  // namespace

void add_bench_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App& bench = add_command(
      app, "bench",
      "Measures links and devices of this machine. Reports and predictions use the results.",
      {"lockstep bench collectives", "lockstep bench collectives --workers 2,4 --backend gloo",
       "lockstep bench collectives --workers 4 --launcher ssh-hostfile --hostfile hosts",
       "lockstep bench device", "lockstep bench list"});
  bench.require_subcommand(1);
  CLI::App& link = add_command(bench, "collectives",
                               "Times all-reduces of many sizes on every back end and checks each "
                               "sum, to calibrate the link.",
                               {"lockstep bench collectives --workers 2 --max 256MB"});
  link.add_option("-n,--workers", options->workers,
                  "Worker counts (default: 2, 4, ... up to the cores)")
      ->type_name("N,N,...");
  link.add_option("--backend", options->backends,
                  "Back ends (default: all that the worker supports)")
      ->type_name("NAME,...");
  link.add_option("--max", options->most, "Largest size")->type_name("SIZE")->capture_default_str();
  link.add_option("--seconds", options->seconds, "Time to spend on each size")
      ->check(CLI::Range(0.01, 3600.0))
      ->type_name("X")
      ->capture_default_str();
  link.add_flag("--oversubscribe", options->oversubscribe, "Allow more workers than cores");
  link.add_flag("--no-keep", options->no_keep, "Print the figures without storing them");
  link.add_option("--interface", options->interface, "Network between hosts: a name or an address")
      ->type_name("NAME|ADDRESS")
      ->group("Cluster");
  add_launcher_options(link, options->launcher);
  set_action(link, [options, &global] { bench_collectives(global, *options); });

  CLI::App& device = add_command(bench, "device",
                                 "Measures arithmetic and memory of this device: GFLOP/s of a "
                                 "matrix product, GB/s of a stream.",
                                 {"lockstep bench device --threads 1,2"});
  device
      .add_option("--threads", options->threads, "Threads (default: 1, 2, 4, ... up to the cores)")
      ->type_name("N,N,...");
  device.add_option("--seconds", options->seconds, "Time to spend on each figure")
      ->check(CLI::Range(0.01, 3600.0))
      ->type_name("X");
  device.add_flag("--no-keep", options->no_keep, "Print the figures without storing them");
  set_action(device, [options, &global] { bench_device(global, *options); });

  CLI::App& list =
      add_command(bench, "list", "Lists the calibrations of the store.", {"lockstep bench list"});
  set_action(list, [&global] { bench_list(global); });
}

}  // namespace lockstep::cli
