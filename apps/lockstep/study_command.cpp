#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <memory>

#include "command.h"
#include "known_names.h"
#include "lockstep/analyze/step_breakdown.h"
#include "lockstep/base/error.h"
#include "study_plan.h"
#include "study_program.h"
#include "study_request.h"
#include "study_runner.h"
#include "study_slurm.h"
#include "study_training.h"

namespace lockstep::cli {
namespace {

/// The rules by which runs leave out their start, of the kinds there are.
std::string warm_up_rule(const std::vector<StudyRequest>& parts) {
  using Builder = analyze::StepBreakdownBuilder;
  bool epochs = false, steps = false;
  for (const StudyRequest& part : parts) {
    (part.train.spec.max_steps > 0 ? steps : epochs) = true;
  }
  std::string text;
  if (epochs) {
    text =
        "warm-up: the first epoch of a run is left out of its times; a run of one epoch has no "
        "other, and its times are marked as containing the warm-up.";
  }
  if (!steps) return text;
  return text + (text.empty() ? "" : " ") +
         fmt::format(
             "warm-up: the first {} steps of a run that --steps ends are left out of its rate "
             "where it has more than {}; with more than one epoch, all of the first.",
             Builder::kWarmupSteps, Builder::kStepsToAffordWarmup);
}

/// The budget of a ladder, in words; empty without one.
std::string memory_rule(const std::vector<StudyRequest>& parts) {
  for (const StudyRequest& part : parts) {
    const std::uint64_t budget = memory_budget(part);
    if (budget == 0) continue;
    return fmt::format(
        "memory: the workers of a run may allocate {} together{}, each its share; one over it "
        "fails alone.",
        format_bytes(Bytes{budget}),
        part.train.memory_bytes > 0 ? "" : " (what this machine has free)");
  }
  return "";
}

std::unique_ptr<StudyExecutor> make_executor(const StudyRequest& request,
                                             const std::string& store_path, Console& console,
                                             launch::SignalInbox& signals, const Clock& clock) {
  if (!request.launcher.local() && request.is_foreign()) {
    throw Error(ErrorKind::kUsage, "--launcher is for lockstep's own trainer, not for a command",
                "let the command itself submit the job: -- srun -n {workers} ...");
  }
  if (request.launcher.launcher == "slurm") {
    return std::make_unique<StudySlurm>(request.train, request.launcher.cluster, store_path,
                                        console, signals, clock);
  }
  if (!request.is_foreign()) {
    record::TrainRequest train = request.train;
    train.memory_bytes = memory_budget(request);
    return std::make_unique<StudyTraining>(
        std::move(train),
        make_training_launcher(request.launcher.launcher, console, signals, clock), store_path,
        console, clock);
  }
  const record::RunSpec& spec = request.train.spec;
  ForeignCommand command;
  command.words = request.command;
  command.values = {spec.epochs, spec.seed, spec.device};
  command.network = request.network.empty() ? study::script_name(request.command) : request.network;
  command.pattern = request.pattern;
  command.show_output = request.show_output;
  command.wall_time = request.wall_time;
  if (request.time_limit_s > 0) command.time_limit = Seconds(request.time_limit_s);
  command.memory_bytes = memory_budget(request);
  study::check_command(command.words, sweep_of(request), command.values);
  return std::make_unique<StudyProgram>(std::move(command), store_path, console, signals, clock);
}

/// `parts` are the sweeps of one study, completed; what they say of the study is the first's.
void run_study(const std::vector<StudyRequest>& parts, const GlobalOptions& global) {
  // A reader of our output that goes away must not take a study of hours with it.
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  check_names(parts, clock);
  Console console(clock);
  launch::SignalInbox signals;
  std::vector<std::unique_ptr<StudyExecutor>> executors;
  std::vector<StudyRun> runs;
  for (const StudyRequest& part : parts) {
    executors.push_back(make_executor(part, global.store_path, console, signals, clock));
    for (study::PlannedRun& planned : study::plan_runs(sweep_of(part))) {
      runs.push_back({std::move(planned), executors.back().get()});
    }
  }
  // Rounds of repeats stay together across sweeps, for the same reason as within one.
  std::stable_sort(runs.begin(), runs.end(), [](const StudyRun& a, const StudyRun& b) {
    return a.planned.repeat < b.planned.repeat;
  });
  StudyOptions options;
  options.name = parts.front().name;
  options.dry_run = parts.front().dry_run;
  options.retry_failed = parts.front().retry_failed;
  options.memory = memory_rule(parts);
  options.warm_up = warm_up_rule(parts);
  StudyRunner(std::move(runs), options, global, console, signals).run();
}

void study(const CLI::App& command, StudyRequest request, const GlobalOptions& global) {
  request.command = global.after_dashes;
  request.network = request.name;
  if (request.what.ends_with(".toml")) {
    run_study(read_study_plan(command, request), global);
    return;
  }
  std::vector<StudyRequest> parts = split_request(request);
  for (StudyRequest& part : parts) {
    complete_study_request(part);
    // Several recipes or devices of one command line are one study, named after all of it.
    if (parts.size() > 1 && request.name.empty()) {
      request.train.spec.recipe = request.what;
      part.name = default_study_name(request);
    }
  }
  run_study(parts, global);
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
       "lockstep study --workers 1,2,4 --batch 32,128 -- torchrun --nproc-per-node {workers} "
       "train.py --batch-size {batch}",
       "lockstep study plan.toml --dry-run",
       "lockstep study fashion --workers 1,2,4 --launcher slurm --partition cpu --time 10"});
  add_study_options(command, *request);
  set_action(command, [request, &command, &global] { study(command, *request, global); });
}

}  // namespace lockstep::cli
