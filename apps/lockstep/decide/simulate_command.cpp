#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line/command.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/collect/measured_step.h"
#include "lockstep/report/failure_tables.h"
#include "lockstep/report/simulation_tables.h"
#include "lockstep/simulate/failing_jobs.h"
#include "lockstep/simulate/run/network_simulator.h"
#include "lockstep/simulate/run/step_trace.h"
#include "lockstep/simulate/settings.h"

namespace lockstep::cli {
namespace {

struct SimulateOptions {
  std::int64_t run = 0;
  std::string workers = "1..64";
  simulate::Settings settings;
  std::vector<std::string> compare;
  std::string sweep;
  std::string trace;
  bool csv = false;
  bool definitions = false;
  simulate::FailureSettings failures;
};

simulate::StepSource source_of(const GlobalOptions& global, const SimulateOptions& options) {
  if (options.run > 0) {
    store::Store store(global.store_path);
    return collect::measured_step(store, options.run);
  }
  simulate::StepSource source;
  source.text = "as stated";
  return source;
}

/// What was asked for, then every change of it.
std::vector<simulate::Variant> variants_of(const SimulateOptions& options) {
  if (!options.sweep.empty()) return simulate::parse_sweep(options.settings, options.sweep);
  std::vector<simulate::Variant> variants{{"as asked", options.settings}};
  for (const std::string& text : options.compare) {
    variants.push_back(simulate::parse_variant(options.settings, text));
  }
  return variants;
}

void print_table(const report::Table& table, const SimulateOptions& options) {
  const report::Format format = options.csv ? report::Format::kCsv : report::Format::kText;
  fmt::print("{}", report::render(table, format,
                                  {.width = options.csv ? 0 : terminal_width(),
                                   .definitions = options.definitions}));
}

void print_scalings(const GlobalOptions& global, const SimulateOptions& options,
                    const std::vector<simulate::SimulatedScaling>& all,
                    const report::SimulationSource& source) {
  if (global.json) {
    for (const simulate::SimulatedScaling& one : all) {
      print_line(report::simulation_json(one, source));
    }
  } else if (all.size() == 1) {
    print_table(report::simulation_table(all.front(), source), options);
  } else {
    print_table(report::comparison_table(all, source), options);
  }
}

void print_failures(const GlobalOptions& global, const SimulateOptions& options,
                    const std::vector<simulate::JobForecast>& jobs) {
  if (global.json) {
    for (const simulate::JobForecast& job : jobs) print_line(report::failure_json(job));
    return;
  }
  fmt::print("\n");
  print_table(report::failures_table(jobs), options);
}

void run(const GlobalOptions& global, SimulateOptions& options) {
  if (!options.sweep.empty() && !options.compare.empty()) {
    throw Error(ErrorKind::kUsage, "--sweep and --compare cannot be combined",
                "a list may be swept too: --sweep algorithm=ring,tree");
  }
  if (!options.failures.mttf.empty() && (!options.compare.empty() || !options.sweep.empty())) {
    throw Error(ErrorKind::kUsage, "--mttf applies to one scenario",
                "omit --compare and --sweep, or --mttf");
  }
  const std::vector<std::int64_t> counts = simulate::parse_counts(options.workers);
  const simulate::StepSource source = source_of(global, options);
  const SystemClock clock;
  const simulate::NetworkEngine engine = simulate::network_simulator(clock);
  const std::vector<simulate::Variant> variants = variants_of(options);
  std::vector<simulate::SimulatedScaling> all;
  for (const simulate::Variant& variant : variants) {
    simulate::Scenario scenario = simulate::make_scenario(variant.settings, source);
    scenario.name = variant.name;
    all.push_back(simulate::simulate_scaling(scenario, counts, engine));
  }
  const auto jobs = simulate::forecast_jobs(all.front(), source, options.failures, engine);
  print_scalings(global, options, all,
                 report::simulation_source(variants.front().settings, source));
  if (!jobs.empty()) print_failures(global, options, jobs);
  if (!options.trace.empty()) {
    simulate::write_step_trace(options.trace, all.front().scenario, all.front().points.back());
  }
}

void add_failure_options(CLI::App& command, simulate::FailureSettings& failures) {
  command
      .add_option("--mttf", failures.mttf,
                  "Mean time to a failure of one worker: adds time and cost of a job")
      ->type_name("TIME");
  command
      .add_option("--checkpoint", failures.checkpoint,
                  fmt::format("Time that training stops for a checkpoint (default: {})",
                              simulate::kUsualCheckpoint))
      ->type_name("TIME");
  command
      .add_option("--restart", failures.restart,
                  fmt::format("Time from a failure until training continues (default: {})",
                              simulate::kUsualRestart))
      ->type_name("TIME");
  command
      .add_option("--repair", failures.repair,
                  "Time until a failed host is replaced (default: none, a spare is ready)")
      ->type_name("TIME");
  command
      .add_option("--interval", failures.interval,
                  "Training time between checkpoints (default: Daly's optimum)")
      ->type_name("TIME");
  command
      .add_option("--min-workers", failures.min_workers,
                  "Fewest workers to continue with until failed hosts are replaced")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--epochs", failures.epochs, "Epochs of the job")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("--examples", failures.examples, "Examples of one epoch (default: the run's)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("--work", failures.work, "Time of the job without failures: 30d")
      ->type_name("TIME");
  command.add_option("--price", failures.price, "Price of one worker per hour")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace

void add_simulate_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App& command = add_command(
      app, "simulate",
      "Simulates a measured or stated step on clusters of any size: topology, algorithm, jitter, "
      "failures.",
      {"lockstep simulate --run 12 --workers 8..4096 --per-host 8 --inside 300GB/s,2us --link "
       "200Gbit,2us --topology fat-tree:2",
       "lockstep simulate --compute 120ms --gradients 100MB --workers 1..1024 --jitter 3%",
       "lockstep simulate --run 12 --workers 64 --compare algorithm=tree --compare wire=fp16",
       "lockstep simulate --run 12 --workers 64 --sweep link=10..400Gbit",
       "lockstep simulate --run 12 --workers 512 --mttf 50000h --checkpoint 60s --restart 5min "
       "--epochs 90"});
  auto options = std::make_shared<SimulateOptions>();
  command.add_option("--run", options->run, "Run of the store whose measured step is simulated")
      ->type_name("RUN")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command
      .add_option("--workers,-n", options->workers, "Worker counts: 8..4096 (doubled), or 1,2,12")
      ->type_name("N,N,...")
      ->capture_default_str();
  for (const simulate::SettingInfo& setting : simulate::known_settings()) {
    std::string help(setting.help);
    if (!setting.fallback.empty()) help += fmt::format(" (default: {})", setting.fallback);
    command
        .add_option("--" + std::string(setting.name), options->settings[std::string(setting.name)],
                    help)
        ->type_name("VALUE");
  }
  command
      .add_option("--compare", options->compare,
                  "Also simulate with settings changed: algorithm=tree,wire=fp16 (repeatable)")
      ->type_name("NAME=VALUE");
  command
      .add_option("--sweep", options->sweep,
                  "One setting at several values: link=10..400Gbit, or bucket=1MB,25MB")
      ->type_name("NAME=VALUES");
  command
      .add_option("--trace", options->trace,
                  "Write one step of the largest count as a Chrome trace (Perfetto opens it)")
      ->type_name("FILE");
  command.add_flag("--csv", options->csv, "Print the table as CSV");
  command.add_flag("--definitions", options->definitions, "Explain the columns below the table");
  add_failure_options(command, options->failures);
  set_action(command, [&global, options] { run(global, *options); });
}

}  // namespace lockstep::cli
