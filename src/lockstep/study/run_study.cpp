#include "lockstep/study/run_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/base/error.h"
#include "lockstep/study/command/command_executor.h"
#include "lockstep/study/command/library_program.h"
#include "lockstep/study/plan/known_names.h"
#include "lockstep/study/slurm/slurm_command.h"
#include "lockstep/study/slurm/slurm_executor.h"
#include "lockstep/study/slurm/slurm_training.h"
#include "lockstep/study/training_executor.h"

namespace lockstep::study {
namespace {

/// The rules by which the runs of these parts leave out their start.
std::string warm_up_rule(const std::vector<StudyRequest>& parts) {
  using Builder = analyze::StepBreakdownBuilder;
  bool epochs = false, steps = false;
  for (const StudyRequest& part : parts) {
    (part.train.spec.max_steps > 0 ? steps : epochs) = true;
  }
  std::string text;
  if (epochs) {
    text =
        "warm-up: the first epoch of a run is left out of its times; the times of a run of one "
        "epoch are marked as including the warm-up.";
  }
  if (!steps) return text;
  return text + (text.empty() ? "" : " ") +
         fmt::format(
             "warm-up: in a run that --steps limits, the first {} steps are left out of its rate "
             "if it has more than {}; with more than one epoch, the whole first epoch is left out.",
             Builder::kWarmupSteps, analyze::kStepsWithoutWarmUp);
}

/// The budget of a ladder, in words; empty without one.
std::string memory_rule(const std::vector<StudyRequest>& parts) {
  for (const StudyRequest& part : parts) {
    const std::uint64_t budget = memory_budget(part);
    if (budget == 0) continue;
    return fmt::format(
        "memory: the workers of a run may allocate {} in total{}, in equal shares; a worker that "
        "exceeds its share fails.",
        format_bytes(Bytes{budget}),
        part.train.memory_bytes > 0 ? "" : " (the free memory of this machine)");
  }
  return "";
}

std::unique_ptr<Executor> command_executor(const StudyRequest& request,
                                           const ExecutorContext& context) {
  const record::RunSpec& spec = request.train.spec;
  ForeignCommand command;
  command.words = request.command;
  command.values = {spec.epochs, spec.seed, spec.device, spec.threads_per_worker};
  command.network = request.network.empty() ? script_name(request.command) : request.network;
  command.pattern = request.pattern;
  command.show_output = request.show_output;
  command.wall_time = request.wall_time;
  if (request.time_limit_s > 0) command.time_limit = Seconds(request.time_limit_s);
  command.max_steps = spec.max_steps;
  command.memory_bytes = memory_budget(request);
  command.watch = request.watch;
  const bool slurm = request.launcher.launcher == record::Launcher::kSlurm;
  check_command(command.words, sweep_of(request), command.values,
                slurm || (!command.words.empty() && uses_library(command.words.front())));
  if (!slurm) return std::make_unique<CommandExecutor>(std::move(command), context);
  return std::make_unique<SlurmExecutor>(
      std::make_unique<SlurmCommand>(std::move(command), request.launcher.cluster, context),
      context);
}

std::unique_ptr<Executor> make_executor(const StudyRequest& request,
                                        const ExecutorContext& context) {
  if (request.is_foreign()) return command_executor(request, context);
  if (request.launcher.launcher == record::Launcher::kSlurm) {
    return std::make_unique<SlurmExecutor>(
        std::make_unique<SlurmTraining>(request.train, request.launcher.cluster, context), context);
  }
  record::TrainRequest train = request.train;
  train.memory_bytes = memory_budget(request);
  return std::make_unique<TrainingExecutor>(std::move(train), context);
}

}  // namespace

void run_study(const std::vector<StudyRequest>& parts, const ExecutorContext& context,
               StudyResults results, bool json) {
  check_names(parts, context.clock);
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<StudyRun> runs;
  for (const StudyRequest& part : parts) {
    executors.push_back(make_executor(part, context));
    for (PlannedRun& planned : plan_runs(sweep_of(part))) {
      runs.push_back({std::move(planned), executors.back().get()});
    }
  }
  // Rounds of repeats stay together across sweeps, for the same reason as within one.
  std::stable_sort(runs.begin(), runs.end(), [](const StudyRun& a, const StudyRun& b) {
    return a.planned.repeat < b.planned.repeat;
  });
  StudyOptions options;
  options.name = parts.front().name;
  options.store_path = context.store_path;
  options.json = json;
  options.dry_run = parts.front().dry_run;
  options.retry_failed = parts.front().retry_failed;
  options.memory = memory_rule(parts);
  options.warm_up = warm_up_rule(parts);
  Runner(std::move(runs), options, std::move(results), context.console, context.signals).run();
}

}  // namespace lockstep::study
