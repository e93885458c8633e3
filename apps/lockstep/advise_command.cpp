#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "lockstep/advise/job_advice.h"
#include "lockstep/base/error.h"
#include "lockstep/base/quantities.h"
#include "lockstep/base/terminal.h"
#include "lockstep/base/units.h"
#include "measured_series.h"
#include "predict_output.h"
#include "target_epochs.h"

namespace lockstep::cli {
namespace {

struct AdviseOptions {
  MeasuredSource source;
  std::string target;
  std::string deadline;
  double budget = 0;
  std::vector<std::string> prices;
  std::int64_t max_workers = 0;  ///< 0 = not given
  std::int64_t epochs = 0;
  std::int64_t examples = 0;
  bool next = false;
};

using advise::Candidate;
using advise::JobAdvice;

nlohmann::json candidate_json(const JobAdvice& job, const Candidate& one) {
  const predict::TableSeries& series = job.series[one.series];
  const char* cost = job.cost_means == "cost" ? "cost" : "device_hours";
  return {{"series", series.name},
          {"device", series.device},
          {"workers", one.workers},
          {"kind", one.measured ? "measured" : "predicted"},
          {"time_s", estimate_json(one.time_s)},
          {cost, estimate_json(one.cost)},
          {"meets_deadline", one.meets_deadline},
          {"meets_budget", one.meets_budget},
          {"pareto", one.pareto}};
}

nlohmann::json candidate_or_null(const JobAdvice& job, std::optional<std::size_t> at) {
  return at ? candidate_json(job, job.candidates[*at]) : nlohmann::json();
}

/// Of the choice's interval; of total times only where those are compared.
std::vector<std::string> reasons_for_width(const JobAdvice& job) {
  std::vector<std::string> reasons = job.chosen().job.scaling.width;
  const bool total = job.time_means != "to the target" && job.time_means != "one epoch";
  std::erase_if(reasons, [&](const std::string& reason) {
    return !total && reason.starts_with("total time: ");
  });
  return reasons;
}

nlohmann::json next_json(const JobAdvice& job) {
  if (!job.next) return nullptr;
  nlohmann::json json{{"series", job.series[job.next->series].name},
                      {"workers", job.next->workers},
                      {"changes_decision", job.next->changes_choice}};
  json["time_s"] = estimate_json(job.next->time_s);
  if (job.next->epoch_s) json["epoch_time_s"] = estimate_json(*job.next->epoch_s);
  return json;
}

void print_json(const JobAdvice& job, const std::vector<std::string>& notes) {
  nlohmann::json json{{"job", job.job},
                      {"sentence", job.sentence()},
                      {"time", job.time_means},
                      {"feasible", job.choice.feasible},
                      {"use", candidate_json(job, job.chosen())},
                      {"why", job.why},
                      {"alternatives", job.alternatives},
                      {"would_change", job.would_change},
                      {"next_run", next_json(job)},
                      {"next_best", candidate_or_null(job, job.choice.next_best)},
                      {"learned_less", candidate_or_null(job, job.choice.passed_over)},
                      {"notes", notes},
                      {"caveats", job.caveats},
                      {"interval_because", reasons_for_width(job)},
                      {"candidates", nlohmann::json::array()}};
  json["room"] = job.room ? nlohmann::json(*job.room) : nlohmann::json();
  json["more_workers_slower_probability"] =
      job.more_is_slower ? nlohmann::json(*job.more_is_slower) : nlohmann::json();
  for (const Candidate& one : job.candidates) {
    json["candidates"].push_back(candidate_json(job, one));
  }
  print_line(json);
}

report::Table candidates_table(const JobAdvice& job, const advise::Terms& terms) {
  using report::Align;
  report::Table table;
  table.title = fmt::format("choices, fastest first (time: {})", job.time_means);
  table.columns = {{"", "", "choice", Align::kLeft, ""},
                   {"series", "", "series", Align::kLeft, ""},
                   {"workers", "", "workers", Align::kRight, ""},
                   {"time", "", "time_s", Align::kRight, ""},
                   {job.cost_means, "", "cost", Align::kRight, ""},
                   {"kind", "", "kind", Align::kLeft, ""},
                   {"Pareto", "", "pareto", Align::kLeft, "none is both faster and cheaper"}};
  if (terms.deadline_s) {
    table.columns.push_back({"in time", "%", "meets_deadline_percent", Align::kRight,
                             "probability of keeping the deadline"});
  }
  if (terms.budget) {
    table.columns.push_back({"in budget", "%", "meets_budget_percent", Align::kRight,
                             "probability of keeping the budget"});
  }
  table.label_columns = 3;
  for (std::size_t i = 0; i < job.candidates.size(); ++i) {
    const Candidate& one = job.candidates[i];
    const std::string mark = i == job.choice.at            ? "use"
                             : job.choice.next_best == i   ? "next best"
                             : job.choice.passed_over == i ? "learned less"
                                                           : " ";
    std::vector<report::Cell> row{mark,
                                  job.labels[one.series],
                                  report::decimal(one.workers, 0),
                                  report::Cell(time_with_interval(one.time_s), one.time_s.value),
                                  report::Cell(significant_with_interval(one.cost), one.cost.value),
                                  one.measured ? "measured" : "predicted",
                                  one.pareto ? "yes" : " "};
    if (terms.deadline_s) row.push_back(report::decimal(100 * one.meets_deadline, 0));
    if (terms.budget) row.push_back(report::decimal(100 * one.meets_budget, 0));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void print_next(const JobAdvice& job) {
  if (!job.next) {
    fmt::print("next run: none; no further run is likely to change the choice\n");
    return;
  }
  const advise::NextRun& next = *job.next;
  const predict::Estimate& duration_s = next.epoch_s ? *next.epoch_s : next.time_s;
  const std::string duration = fmt::format(
      ", {} of about {}, {:.2g} device-hours", next.epoch_s ? "an epoch" : job.time_means,
      time_with_interval(duration_s), duration_s.value * next.workers / 3600);
  fmt::print("next run: {:g} worker{} of {}{}; {:.0f} % likely to change the choice\n",
             next.workers, next.workers == 1 ? "" : "s", job.series[next.series].name, duration,
             100 * next.changes_choice);
}

void print_text(const JobAdvice& job, std::size_t jobs, const advise::Terms& terms,
                const std::vector<std::string>& notes) {
  fmt::print("{}\n", job.sentence_of(jobs));
  for (const std::string& reason : job.why) fmt::print("  because: {}\n", reason);
  for (const std::string& text : job.alternatives) fmt::print("  {}\n", text);
  if (job.more_is_slower) {
    fmt::print("  {:g} workers would be slower with probability {:.0f} %\n", job.more_workers,
               100 * *job.more_is_slower);
  }
  for (const std::string& text : job.would_change) fmt::print("  would change: {}\n", text);
  fmt::print("  ");
  print_next(job);
  fmt::print("\n{}", report::render(candidates_table(job, terms), report::Format::kText,
                                    {.width = terminal_width()}));
  for (const std::string& note : job.caveats) fmt::print("note: {}\n", note);
  for (const std::string& note : notes) fmt::print("note: {}\n", note);
  for (const std::string& reason : reasons_for_width(job)) {
    fmt::print("note: interval of the choice: {}\n", reason);
  }
  fmt::print("note: in brackets: 90 % intervals\n");
}

/// A target is of one job: the epochs that one model needs do not apply to another.
void check_one_model(const std::vector<predict::TableSeries>& measured) {
  std::set<std::string> models;
  for (const predict::TableSeries& one : measured) models.insert(one.model);
  if (models.size() < 2) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} models were measured: {}", models.size(), fmt::join(models, ", ")),
              fmt::format("name the one that --target is of: --model {}", *models.begin()));
}

advise::Terms terms_of(const AdviseOptions& options) {
  advise::Terms terms;
  terms.max_workers = static_cast<double>(options.max_workers);
  if (!options.deadline.empty()) terms.deadline_s = parse_duration(options.deadline, "--deadline");
  if (options.budget > 0) terms.budget = options.budget;
  terms.price_per_hour = parse_prices(options.prices);
  if (options.epochs > 0) terms.epochs = options.epochs;
  if (options.examples > 0) terms.examples = options.examples;
  return terms;
}

void add_target(advise::Terms& terms, const AdviseOptions& options,
                const std::vector<record::Measurement>& rows, std::vector<std::string>& notes) {
  TargetEpochs epochs = epochs_to_target(rows, parse_target(options.target));
  if (options.examples > 0) epochs.examples = static_cast<double>(options.examples);
  terms.steps = steps_model(epochs);
  terms.failing_batch = epochs.failing_batch;
  if (!terms.examples) terms.examples = static_cast<std::int64_t>(epochs.examples);
  notes.insert(notes.end(), epochs.notes.begin(), epochs.notes.end());
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
  const auto jobs = advise::advise({configurations, groups, series, measured.rooms}, terms);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (global.json) {
      print_json(jobs[i], notes);
    } else if (options.next) {
      if (jobs.size() > 1) fmt::print("{}: ", jobs[i].job);
      print_next(jobs[i]);
    } else {
      fmt::print("{}", i == 0 ? "" : "\n");
      print_text(jobs[i], jobs.size(), terms, notes);
    }
  }
}

}  // namespace

void add_advise_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App& command = add_command(
      app, "advise",
      "Name the configuration to use, with reasons, alternatives and what would change it",
      {"lockstep advise --epochs 20 --deadline 2h --price v100=2.48/h",
       "lockstep advise --target val_accuracy=0.9 --max-workers 16",
       "lockstep advise --from table.csv --budget 20 --price t4=0.35/h --next"});
  auto options = std::make_shared<AdviseOptions>();
  command.add_option("--target", options->target, "Metric and value to reach: val_accuracy=0.9");
  command.add_option("--deadline", options->deadline, "Longest time: 90s, 30min, 2h");
  command.add_option("--budget", options->budget, "Highest cost (device-hours without prices)")
      ->check(CLI::Range(1e-6, 1e12));
  command.add_option("--price", options->prices, "Price of one device per hour: v100=2.48/h")
      ->delimiter(',');
  command
      .add_option("--max-workers", options->max_workers,
                  "Largest count to consider (default: twice the largest measured one)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command.add_option("--epochs", options->epochs, "Epochs of the whole run")
      ->check(CLI::Range(std::int64_t{1}, kMostExamples));
  command.add_option("--examples", options->examples, "Examples of one epoch")
      ->check(CLI::Range(std::int64_t{1}, kMostExamples));
  command.add_option("--from", options->source.table, "Measurements table; default: the store");
  command.add_option("--model", options->source.model, "Only measurements of this model or recipe");
  command.add_option("--study", options->source.study, "Only runs of this study of the store");
  command.add_option("--series-column", options->source.series_column,
                     "Column of the table that names the series");
  command.add_flag("--next", options->next, "Only the run to make next");
  set_action(command, [&global, options] { run(global, *options); });
}

}  // namespace lockstep::cli
