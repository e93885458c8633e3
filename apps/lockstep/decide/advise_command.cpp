#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command_line/command.h"
#include "decide/measured_series.h"
#include "lockstep/advise/job_advice.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/collect/simulated_counts.h"
#include "lockstep/predict/duration/target_epochs.h"
#include "lockstep/report/advice_tables.h"
#include "lockstep/simulate/run/network_simulator.h"

namespace lockstep::cli {
namespace {

struct AdviseOptions {
  MeasuredSource source;
  std::string target;
  std::string deadline;
  double budget = 0;
  std::vector<std::string> prices;
  std::string objective;
  double carbon = 0;
  std::int64_t max_workers = 0;  ///< 0 = not given
  std::int64_t epochs = 0;
  std::int64_t examples = 0;
  bool next = false;
  bool simulate = false;
  std::string cluster;  ///< of the simulation: "link=25Gbit,per-host=8"
};

/// A target is of one job: the epochs that one model needs do not apply to another.
void check_one_model(const std::vector<predict::TableSeries>& measured) {
  std::set<std::string> models;
  for (const predict::TableSeries& one : measured) models.insert(one.model);
  if (models.size() < 2) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} models were measured: {}", models.size(), fmt::join(models, ", ")),
              fmt::format("choose the one that --target refers to: --model {}", *models.begin()));
}

advise::Terms terms_of(const AdviseOptions& options) {
  advise::Terms terms;
  terms.max_workers = static_cast<double>(options.max_workers);
  if (!options.deadline.empty()) terms.deadline_s = parse_duration(options.deadline, "--deadline");
  if (options.budget > 0) terms.budget = options.budget;
  terms.price_per_hour = parse_prices(options.prices);
  if (!options.objective.empty()) terms.objective = advise::objective_from_name(options.objective);
  if (options.carbon > 0) terms.carbon_g_per_kwh = options.carbon;
  if (options.epochs > 0) terms.epochs = options.epochs;
  if (options.examples > 0) terms.examples = options.examples;
  return terms;
}

void add_target(advise::Terms& terms, const AdviseOptions& options,
                const std::vector<record::Measurement>& rows, std::vector<std::string>& notes) {
  predict::TargetEpochs epochs = predict::epochs_to_target(rows, parse_target(options.target));
  if (options.examples > 0) epochs.examples = static_cast<double>(options.examples);
  terms.steps = predict::steps_model(epochs);
  terms.failing_batch = epochs.failing_batch;
  if (!terms.examples) terms.examples = static_cast<std::int64_t>(epochs.examples);
  notes.insert(notes.end(), epochs.notes.begin(), epochs.notes.end());
}

/// Counts beyond the measured ones from a simulation.
void add_simulation(advise::Terms& terms, const AdviseOptions& options,
                    const std::vector<record::Measurement>& rows,
                    const std::vector<predict::TableSeries>& series,
                    std::vector<std::string>& notes) {
  if (!options.source.table.empty()) {
    throw Error(ErrorKind::kUsage,
                "--simulate needs the steps of runs, which a table does not have",
                "omit --from, or simulate a stated step with lockstep simulate --compute");
  }
  static const SystemClock clock;
  store::Store store(options.source.store_path);
  const simulate::Settings settings =
      options.cluster.empty() ? simulate::Settings()
                              : simulate::parse_variant({}, options.cluster, "--simulate").settings;
  const auto counts = std::make_shared<collect::SimulatedCounts>(
      store, rows, series, settings, simulate::network_simulator(clock));
  notes.insert(notes.end(), counts->notes().begin(), counts->notes().end());
  terms.simulated = [counts](const predict::TableSeries& one, double workers) {
    return counts->rate(one, workers);
  };
}

void run(const GlobalOptions& global, AdviseOptions& options) {
  options.source.store_path = global.store_path;
  const MeasuredRows measured = measured_rows(options.source);
  const auto configurations = analyze::configurations(measured.rows);
  const auto groups = analyze::speedups(configurations);
  const auto series =
      predict::job_series(measured.rows, options.source.from(), options.source.series_column);
  advise::Terms terms = terms_of(options);
  std::vector<std::string> notes;
  if (!options.target.empty()) {
    check_one_model(series);
    add_target(terms, options, measured.rows, notes);
  }
  if (options.simulate) add_simulation(terms, options, measured.rows, series, notes);
  const auto jobs = advise::advise({configurations, groups, series, measured.rooms}, terms);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (global.json) {
      print_line(report::advice_json(jobs[i], notes));
    } else if (options.next) {
      if (jobs.size() > 1) fmt::print("{}: ", jobs[i].job);
      fmt::print("next run: {}\n", report::next_run_text(jobs[i]));
    } else {
      fmt::print("{}", i == 0 ? "" : "\n");
      fmt::print("{}", report::advice_text(jobs[i], jobs.size(), terms, notes,
                                           {.width = terminal_width()}));
    }
  }
}

}  // namespace

void add_advise_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App& command = add_command(
      app, "advise",
      "Recommends a configuration, with reasons, alternatives and what would change the choice.",
      {"lockstep advise --epochs 20 --deadline 2h --price v100=2.48/h",
       "lockstep advise --target val_accuracy=0.9 --max-workers 16",
       "lockstep advise --from table.csv --budget 20 --price t4=0.35/h --next",
       "lockstep advise --objective energy --carbon 380",
       "lockstep advise --deadline 30min --simulate link=25Gbit,per-host=8 --max-workers 256"});
  auto options = std::make_shared<AdviseOptions>();
  command.add_option("--target", options->target, "Metric and value to reach: val_accuracy=0.9")
      ->type_name("METRIC=VALUE");
  command.add_option("--deadline", options->deadline, "Longest acceptable time: 90s, 30min, 2h")
      ->type_name("TIME");
  command
      .add_option("--budget", options->budget,
                  "Highest acceptable cost (device-hours without prices)")
      ->type_name("X")
      ->check(CLI::Range(1e-6, 1e12));
  command.add_option("--price", options->prices, "Price of one device per hour: v100=2.48/h")
      ->type_name("DEVICE=PRICE")
      ->delimiter(',');
  command
      .add_option("--objective", options->objective,
                  "What to minimise: time, cost or energy (default: the count that pays off)")
      ->type_name("WHAT");
  command
      .add_option("--carbon", options->carbon,
                  "Carbon intensity of the electricity, to convert measured energy to CO2")
      ->type_name("G/kWh")
      ->check(CLI::Range(1e-3, 1e5));
  command
      .add_option("--max-workers", options->max_workers,
                  "Largest worker count to consider (default: twice the largest measured one)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  add_job_options(command, options->epochs, options->examples);
  add_source_options(command, options->source);
  command.add_flag("--next", options->next, "Print only the run to make next");
  CLI::Option* simulate = command
                              .add_option("--simulate", options->cluster,
                                          "Simulate the counts beyond the measured ones, on a "
                                          "cluster with settings of lockstep simulate: link=25Gbit")
                              ->type_name("[SETTINGS]")
                              ->expected(0, 1);
  set_action(command, [&global, options, simulate] {
    options->simulate = simulate->count() > 0;
    run(global, *options);
  });
}

}  // namespace lockstep::cli
