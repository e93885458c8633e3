#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "command_line/command.h"
#include "lockstep/analyze/steps/step_limit.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/collect/stored_runs.h"
#include "lockstep/report/phase_table.h"
#include "lockstep/report/run_export.h"
#include "lockstep/report/run_tables.h"

namespace lockstep::cli {
namespace {

struct RunsOptions {
  store::RunFilter filter;
  std::string status;
  std::vector<std::int64_t> ids;
  bool yes = false;
  bool compact = false;
};

void list_runs(const GlobalOptions& global, RunsOptions& options) {
  if (!options.status.empty()) options.filter.state = store::state_from_name(options.status);
  const report::Table table =
      report::runs_table(store::Store(global.store_path).runs(options.filter));
  if (global.json) {
    fmt::print("{}", report::render(table, report::Format::kJson));
  } else if (table.rows.empty()) {
    fmt::print("no runs in {}{}\n", global.store_path, options.filter.any() ? " that match" : "");
  } else {
    print(table);
  }
}

void show_run(const GlobalOptions& global, std::int64_t id) {
  store::Store store(global.store_path);
  const store::StoredRun run = store.load(id);
  if (global.json) {
    fmt::print("{}", report::run_json(run));
    return;
  }
  print(report::run_facts_table(run));
  if (!run.epochs.empty()) {
    fmt::print("\n");
    print(report::epochs_table(run.epochs));
  }
  const analyze::StepBreakdown breakdown = collect::step_breakdown(store, run);
  if (!breakdown.ranks.empty()) {
    fmt::print("\n");
    print(report::phase_table(breakdown));
    const std::string slowest = report::slowest_rank_sentence(breakdown);
    if (!slowest.empty()) fmt::print("{}\n", slowest);
    fmt::print("{}\n", analyze::limit_sentence(breakdown, collect::run_facts(run.started)));
  }
  if (!run.utilisation.empty()) {
    fmt::print("\n");
    print(report::utilisation_table(run.utilisation));
  }
  if (!run.errors.empty()) {
    fmt::print("\n");
    print(report::errors_table(run.errors));
  }
}

/// "run 3", "runs 3, 4".
std::string named(const std::vector<std::int64_t>& ids) {
  return fmt::format("{} {}", ids.size() == 1 ? "run" : "runs", fmt::join(ids, ", "));
}

bool confirmed(const std::vector<std::int64_t>& ids) {
  fmt::print(stderr, "permanently delete {}? [y/N] ", named(ids));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

void delete_runs(const GlobalOptions& global, RunsOptions& options) {
  std::vector<std::int64_t>& ids = options.ids;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  store::Store store(global.store_path);
  store.require(ids);
  if (!options.yes && !can_ask()) {
    throw Error(ErrorKind::kUsage, "deleting runs needs confirmation", "add --yes");
  }
  if (!options.yes && !confirmed(ids)) {
    fmt::print(stderr, "nothing deleted\n");
    return;
  }
  store.remove(ids);
  if (options.compact) store.compact();
  if (global.json) {
    fmt::print("{{\"deleted\": [{}]}}\n", fmt::join(ids, ", "));
  } else {
    fmt::print("deleted {}\n", named(ids));
  }
}

}  // namespace

void add_runs_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<RunsOptions>();
  CLI::App& runs = add_command(app, "runs", "Lists, shows and deletes the runs of the store.",
                               {"lockstep runs", "lockstep runs --recipe fashion --status done",
                                "lockstep runs show 3", "lockstep runs delete 1 2 --yes"});
  runs.require_subcommand(0, 1);
  runs.add_option("--recipe", options->filter.recipe, "Only runs of this recipe")
      ->type_name("NAME");
  runs.add_option("--status", options->status,
                  "Only running, done, interrupted, failed or killed runs")
      ->type_name("STATUS");
  runs.add_option("--workers", options->filter.workers, "Only runs with this number of workers")
      ->type_name("N");
  runs.add_option("--batch", options->filter.batch_per_worker,
                  "Only runs with this batch per worker")
      ->type_name("b");
  runs.add_option("--study", options->filter.study, "Only runs of this study")->type_name("NAME");
  set_action(runs, [&runs, &global, options] {
    if (runs.get_subcommands().empty()) list_runs(global, *options);
  });

  CLI::App& show = add_command(
      runs, "show", "Shows one run: settings, machine, build, epochs, where the time went, errors.",
      {"lockstep runs show 3", "lockstep runs show 3 --json"});
  show.add_option("id", options->ids, "Id of the run")->required()->expected(1)->type_name("ID");
  set_action(show, [&global, options] { show_run(global, options->ids.front()); });

  CLI::App& remove =
      add_command(runs, "delete", "Deletes runs and everything that belongs to them.",
                  {"lockstep runs delete 1 2 --yes"});
  remove.add_option("id", options->ids, "Ids of the runs")->required()->type_name("ID...");
  remove.add_flag("--yes,-y", options->yes, "Do not ask for confirmation");
  remove.add_flag("--compact", options->compact, "Shrink the store file afterwards");
  set_action(remove, [&global, options] { delete_runs(global, *options); });
}

}  // namespace lockstep::cli
