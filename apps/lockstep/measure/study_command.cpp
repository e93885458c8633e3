#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <memory>

#include "command_line/command.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/collect/calibrated_links.h"
#include "lockstep/collect/stored_runs.h"
#include "lockstep/display/status_sink.h"
#include "lockstep/report/study_report.h"
#include "lockstep/study/run_study.h"
#include "measure/study_options.h"
#include "measure/study_plan.h"

namespace lockstep::cli {
namespace {

/// Tables and verdict of a study, as lockstep report prints them.
std::string report_text(const GlobalOptions& global, const std::string& name) {
  store::Store store(global.store_path);
  const auto format = global.json ? report::Format::kJson : report::Format::kText;
  report::StudyOptions options;
  options.links = collect::calibrated_links(global.store_path, name);
  const report::StudyReport study =
      report::study_report(collect::measured_runs(store, {name, {}}), options);
  return report::render_study(study, format, {.width = terminal_width()});
}

/// What to do with a finished study.
std::string next_steps(const GlobalOptions& global, const std::string& name) {
  const std::string store =
      global.store_path == GlobalOptions().store_path ? "" : " --store " + global.store_path;
  const std::string report = fmt::format("lockstep report {0} --html {0}.html{1}", name, store);
  const std::string advise = fmt::format("lockstep advise {}{}", name, store);
  const std::size_t width = std::max(report.size(), advise.size());
  return fmt::format("\nnext:\n  {:<{}}  charts\n  {:<{}}  deadline, budget, prices", report, width,
                     advise, width);
}

void run_parts(const std::vector<study::StudyRequest>& parts, const GlobalOptions& global) {
  // A reader of our output that goes away must not end a study of hours.
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  Console console(clock);
  launch::SignalInbox signals;
  const study::ExecutorContext context{global.store_path,
                                       console,
                                       signals,
                                       clock,
                                       [&](const std::string& prefix) {
                                         return std::make_unique<display::StatusSink>(
                                             prefix, console, clock);
                                       },
                                       collect::keep_digest};
  study::StudyResults results;
  results.measurements = [&](std::int64_t run) {
    store::Store store(global.store_path);
    return collect::run_rows(store, run);
  };
  results.report = [&] { return report_text(global, parts.front().name); };
  study::run_study(parts, context, std::move(results), global.json);
  if (!global.json && !parts.front().dry_run) console.err(next_steps(global, parts.front().name));
}

void study(const CLI::App& command, study::StudyRequest request, const GlobalOptions& global) {
  request.command = global.after_dashes;
  request.network = request.name;
  if (request.what.ends_with(".toml")) {
    run_parts(read_study_plan(command, request), global);
    return;
  }
  std::vector<study::StudyRequest> parts = study::split_request(request);
  for (study::StudyRequest& part : parts) {
    study::complete_study_request(part);
    // Several recipes or devices of one command line are one study, named after all of it.
    if (parts.size() > 1 && request.name.empty()) {
      request.train.spec.recipe = request.what;
      part.name = study::default_study_name(request);
    }
  }
  run_parts(parts, global);
}

}  // namespace

void add_study_command(CLI::App& app, const GlobalOptions& global) {
  const auto request = std::make_shared<study::StudyRequest>();
  CLI::App& command = add_command(
      app, "study",
      "Sweeps worker counts and batches of your command or of a recipe, and ends with a verdict. "
      "Stores every run. Run the same command again to continue an interrupted study.",
      {"lockstep study fashion --workers 1,2 --batch 32,128,512 --repeat 3",
       "lockstep study fashion --workers 1,2 --global-batch 256 --steps 200 --dry-run",
       "lockstep study --workers 1,2,4 --batch 32,128 -- torchrun --nproc_per_node {workers} "
       "train.py --batch-size {batch}",
       "lockstep study plan.toml --dry-run",
       "lockstep study fashion --workers 1,2,4 --launcher slurm --partition cpu --time 10"});
  add_study_options(command, *request);
  set_action(command, [request, &command, &global] { study(command, *request, global); });
}

}  // namespace lockstep::cli
