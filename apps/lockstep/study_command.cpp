#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <memory>

#include "command.h"
#include "lockstep/analyze/step_breakdown.h"
#include "study_request.h"
#include "study_runner.h"
#include "study_slurm.h"
#include "study_training.h"

namespace lockstep::cli {
namespace {

/// The rule by which runs of this length leave out their start.
std::string warm_up_rule(const StudyRequest& request) {
  using Builder = analyze::StepBreakdownBuilder;
  if (request.train.spec.max_steps == 0) {
    return "warm-up: the first epoch of a run is left out of its times where there are more.";
  }
  return fmt::format(
      "warm-up: the first {} steps of a run are left out of its rate where it has more than {}.",
      Builder::kWarmupSteps, Builder::kStepsToAffordWarmup);
}

std::unique_ptr<StudyExecutor> make_executor(const StudyRequest& request,
                                             const std::string& store_path, Console& console,
                                             launch::SignalInbox& signals, const Clock& clock) {
  if (request.launcher.launcher == "slurm") {
    return std::make_unique<StudySlurm>(request.train, request.launcher.cluster, store_path,
                                        console, signals, clock);
  }
  return std::make_unique<StudyTraining>(request.train, store_path, console, signals, clock);
}

void run_study(StudyRequest request, const GlobalOptions& global) {
  complete_study_request(request);
  // A reader of our output that goes away must not take a study of hours with it.
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  Console console(clock);
  launch::SignalInbox signals;
  const auto executor = make_executor(request, global.store_path, console, signals, clock);
  std::vector<StudyRun> runs;
  for (study::PlannedRun& planned : study::plan_runs(sweep_of(request))) {
    runs.push_back({std::move(planned), executor.get()});
  }
  StudyOptions options;
  options.name = request.name;
  options.dry_run = request.dry_run;
  options.retry_failed = request.retry_failed;
  options.warm_up = warm_up_rule(request);
  StudyRunner(std::move(runs), options, global, console, signals).run();
}

}  // namespace

void add_study_command(CLI::App& app, const GlobalOptions& global) {
  const auto request = std::make_shared<StudyRequest>();
  CLI::App& command = add_command(
      app, "study",
      "Sweeps worker counts and batches, keeps every run, and ends with tables and a verdict; the "
      "same command goes on where it was interrupted.",
      {"lockstep study fashion --workers 1,2 --batch 32,128,512 --repeat 3",
       "lockstep study fashion --workers 1,2 --global-batch 256 --steps 200 --dry-run",
       "lockstep study fashion --workers 1,2,4 --launcher slurm --partition cpu --time 10"});
  add_study_options(command, *request);
  set_action(command, [request, &global] { run_study(*request, global); });
}

}  // namespace lockstep::cli
