#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "host_capacity.h"
#include "lockstep/base/error.h"
#include "lockstep/base/quantities.h"
#include "lockstep/base/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/advice.h"
#include "lockstep/report/page/choice_quality.h"
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

using predict::Advice;
using predict::Candidate;

nlohmann::json candidate_json(const Advice& advice, const Candidate& one) {
  const char* cost = advice.cost_means == "cost" ? "cost" : "device_hours";
  return {{"series", one.name},
          {"device", one.device},
          {"workers", one.workers},
          {"kind", one.measured ? "measured" : "predicted"},
          {"time_s", estimate_json(one.time_s)},
          {cost, estimate_json(one.cost)},
          {"meets_deadline", one.meets_deadline},
          {"meets_budget", one.meets_budget},
          {"pareto", one.pareto}};
}

/// Of the choice's interval; of total times only where those are compared.
std::vector<std::string> reasons_for_width(const Advice& advice) {
  std::vector<std::string> reasons = advice.candidates[advice.chosen].job.scaling.width;
  const bool total = advice.time_means != "to the target" && advice.time_means != "one epoch";
  std::erase_if(reasons, [&](const std::string& reason) {
    return !total && reason.rfind("total time: ", 0) == 0;
  });
  return reasons;
}

nlohmann::json next_json(const Advice& advice) {
  if (!advice.next) return nullptr;
  nlohmann::json json{{"series", advice.next->series},
                      {"workers", advice.next->workers},
                      {"changes_decision", advice.next->changes_decision}};
  json["time_s"] = estimate_json(advice.next->time_s);
  if (advice.next->epoch_s) json["epoch_time_s"] = estimate_json(*advice.next->epoch_s);
  return json;
}

void print_json(const Advice& advice, const std::vector<std::string>& notes) {
  nlohmann::json json{{"time", advice.time_means},
                      {"feasible", advice.feasible},
                      {"use", candidate_json(advice, advice.candidates[advice.chosen])},
                      {"why", advice.why},
                      {"would_change", advice.would_change},
                      {"next_run", next_json(advice)},
                      {"notes", notes},
                      {"caveats", advice.caveats},
                      {"interval_because", reasons_for_width(advice)},
                      {"candidates", nlohmann::json::array()}};
  json["next_best"] = advice.next_best
                          ? candidate_json(advice, advice.candidates[*advice.next_best])
                          : nlohmann::json();
  json["best_measured"] = advice.best_measured
                              ? candidate_json(advice, advice.candidates[*advice.best_measured])
                              : nlohmann::json();
  json["more_workers_slower_probability"] =
      advice.more_is_slower ? nlohmann::json(*advice.more_is_slower) : nlohmann::json();
  for (const Candidate& one : advice.candidates) {
    json["candidates"].push_back(candidate_json(advice, one));
  }
  print_line(json);
}

report::Table candidates_table(const Advice& advice, const predict::AdviceQuestion& question) {
  using report::Align;
  report::Table table;
  table.title = fmt::format("choices, fastest first (time: {})", advice.time_means);
  table.columns = {{"", "", "choice", Align::kLeft, ""},
                   {"series", "", "series", Align::kLeft, ""},
                   {"workers", "", "workers", Align::kRight, ""},
                   {"time", "", "time_s", Align::kRight, ""},
                   {advice.cost_means, "", "cost", Align::kRight, ""},
                   {"kind", "", "kind", Align::kLeft, ""},
                   {"Pareto", "", "pareto", Align::kLeft, "none is both faster and cheaper"}};
  if (question.deadline_s) {
    table.columns.push_back({"in time", "%", "meets_deadline_percent", Align::kRight,
                             "probability of keeping the deadline"});
  }
  if (question.budget) {
    table.columns.push_back({"in budget", "%", "meets_budget_percent", Align::kRight,
                             "probability of keeping the budget"});
  }
  table.label_columns = 3;
  for (std::size_t i = 0; i < advice.candidates.size(); ++i) {
    const Candidate& one = advice.candidates[i];
    const std::string mark = i == advice.chosen ? "use" : advice.next_best == i ? "next best" : " ";
    std::vector<report::Cell> row{mark,
                                  one.name,
                                  report::decimal(one.workers, 0),
                                  report::Cell(time_with_interval(one.time_s), one.time_s.value),
                                  report::Cell(significant_with_interval(one.cost), one.cost.value),
                                  one.measured ? "measured" : "predicted",
                                  one.pareto ? "yes" : " "};
    if (question.deadline_s) row.push_back(report::decimal(100 * one.meets_deadline, 0));
    if (question.budget) row.push_back(report::decimal(100 * one.meets_budget, 0));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void print_next(const Advice& advice) {
  if (!advice.next) {
    fmt::print("next run: none; nothing more is worth measuring for this decision\n");
    return;
  }
  const predict::NextRun& next = *advice.next;
  const predict::Estimate& duration_s = next.epoch_s ? *next.epoch_s : next.time_s;
  const std::string duration = fmt::format(
      ", {} of about {}, {:.2g} device-hours", next.epoch_s ? "an epoch" : advice.time_means,
      time_with_interval(duration_s), duration_s.value * next.workers / 3600);
  fmt::print("next run: {:g} worker{} of {}{}; {:.0f} % that it changes the decision\n",
             next.workers, next.workers == 1 ? "" : "s", next.series, duration,
             100 * next.changes_decision);
}

void print_text(const Advice& advice, const predict::AdviceQuestion& question,
                const std::vector<std::string>& notes) {
  const Candidate& chosen = advice.candidates[advice.chosen];
  fmt::print("use {:g} worker{} of {}: {} ({}, {}), {} {}\n", chosen.workers,
             chosen.workers == 1 ? "" : "s", chosen.name, time_with_interval(chosen.time_s),
             advice.time_means, chosen.measured ? "measured" : "predicted",
             significant_with_interval(chosen.cost), advice.cost_means);
  for (const std::string& reason : advice.why) fmt::print("  because: {}\n", reason);
  if (advice.more_is_slower) {
    fmt::print("  {:g} workers would be slower with probability {:.0f} %\n", advice.more_workers,
               100 * *advice.more_is_slower);
  }
  for (const std::string& text : advice.would_change) fmt::print("  would change: {}\n", text);
  fmt::print("  ");
  print_next(advice);
  fmt::print("\n{}", report::render(candidates_table(advice, question), report::Format::kText,
                                    {.width = terminal_width()}));
  for (const std::string& note : advice.caveats) fmt::print("note: {}\n", note);
  for (const std::string& note : notes) fmt::print("note: {}\n", note);
  for (const std::string& reason : reasons_for_width(advice)) {
    fmt::print("note: interval of the choice: {}\n", reason);
  }
  fmt::print("note: in brackets: 90 % intervals\n");
}

/// Only ways to do the same job can be compared.
void check_one_job(const std::vector<predict::TableSeries>& measured) {
  std::set<std::string> models;
  for (const predict::TableSeries& one : measured) models.insert(one.model);
  if (models.size() < 2) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} models were measured: {}", models.size(), fmt::join(models, ", ")),
              fmt::format("name one: --model {}", *models.begin()));
}

/// What was asked for; otherwise what the hosts of the runs hold, since workers beyond that need
/// hosts that nobody has spoken of.
std::int64_t most_workers(const AdviseOptions& options, std::vector<std::string>& notes) {
  constexpr std::int64_t kUsual = 16;
  if (options.max_workers > 0) return options.max_workers;
  if (!options.source.table.empty()) return kUsual;
  const auto held = workers_that_hosts_hold(options.source.store_path, options.source.study);
  if (!held) return kUsual;
  notes.push_back(fmt::format(
      "up to {} worker{} considered, as many as the hosts of these runs hold; --max-workers "
      "considers more",
      *held, *held == 1 ? " is" : "s are"));
  return *held;
}

/// Without a target only time and cost are compared; where the runs tell what that costs in
/// accuracy, it is said.
void note_what_was_learned(const Advice& advice, const predict::AdviceQuestion& question,
                           const std::vector<record::Measurement>& rows,
                           std::vector<std::string>& notes) {
  const report::ChoiceQuality quality = report::choice_quality(
      question.measured, advice.candidates, analyze::qualities(analyze::configurations(rows)));
  const std::optional<std::size_t> best = quality.best();
  if (!best) return;
  const auto sign = report::sign_of_less(quality, advice.candidates, advice.chosen, *best);
  if (!sign) return;
  const auto ended = [&](std::size_t at) {
    const Candidate& one = advice.candidates[at];
    return fmt::format("{:g} worker{} of {} ended with {}", one.workers,
                       one.workers == 1 ? "" : "s", one.name, quality.text(at));
  };
  notes.push_back(
      fmt::format("{}; {}: --target counts the epochs to an accuracy", ended(*sign), ended(*best)));
}

void run(const GlobalOptions& global, AdviseOptions& options) {
  options.source.store_path = global.store_path;
  predict::AdviceQuestion question;
  const std::vector<record::Measurement> rows = measured_rows(options.source);
  question.measured =
      series_of_rows(rows, options.source.table.empty(), options.source.series_column);
  check_one_job(question.measured);
  std::vector<std::string> notes;
  question.max_workers = static_cast<double>(most_workers(options, notes));
  if (!options.deadline.empty())
    question.deadline_s = parse_duration(options.deadline, "--deadline");
  if (options.budget > 0) question.budget = options.budget;
  question.price_per_hour = parse_prices(options.prices);
  if (options.epochs > 0) question.epochs = options.epochs;
  if (options.examples > 0) question.examples = options.examples;
  if (!options.target.empty()) {
    TargetEpochs epochs = epochs_to_target(rows, parse_target(options.target));
    if (options.examples > 0) epochs.examples = static_cast<double>(options.examples);
    question.steps = steps_model(epochs);
    question.failing_batch = epochs.failing_batch;
    if (!question.examples) question.examples = static_cast<std::int64_t>(epochs.examples);
    notes.insert(notes.end(), epochs.notes.begin(), epochs.notes.end());
  }
  const Advice advice = predict::advise(question);
  if (!question.steps) note_what_was_learned(advice, question, rows, notes);
  if (global.json) {
    print_json(advice, notes);
  } else if (options.next) {
    print_next(advice);
  } else {
    print_text(advice, question, notes);
  }
}

}  // namespace

void add_advise_command(CLI::App& app, const GlobalOptions& global) {
  CLI::App& command =
      add_command(app, "advise", "Say which configuration to use, why, and what would change that",
                  {"lockstep advise --epochs 20 --deadline 2h --price v100=2.48/h",
                   "lockstep advise --target val_accuracy=0.9 --max-workers 16",
                   "lockstep advise --from table.csv --budget 20 --price t4=0.35/h --next"});
  auto options = std::make_shared<AdviseOptions>();
  command.add_option("--target", options->target, "Metric and value to reach: val_accuracy=0.9");
  command.add_option("--deadline", options->deadline, "Longest time: 90s, 30min, 2h");
  command.add_option("--budget", options->budget, "Highest cost (device-hours without prices)")
      ->check(CLI::Range(1e-6, 1e12));
  command.add_option("--price", options->prices, "Price of one device an hour: v100=2.48/h")
      ->delimiter(',');
  command
      .add_option("--max-workers", options->max_workers,
                  "Largest count to consider (default: what the hosts of the store's runs hold; 16 "
                  "of a table)")
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
  command.add_flag("--next", options->next, "Only the run that would tell most");
  set_action(command, [&global, options] { run(global, *options); });
}

}  // namespace lockstep::cli
