#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <csignal>
#include <memory>

#include "command_line/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/collect/run_digests.h"
#include "lockstep/display/json_sink.h"
#include "lockstep/display/run_display.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/measure/machine.h"
#include "lockstep/store/store_sink.h"
#include "lockstep/study/auto_workers/worker_choice.h"
#include "measure/launcher_options.h"
#include "train_options.h"

namespace lockstep::cli {
namespace {

/// Throws what went wrong, if anything did.
void throw_on_failure(const launch::GroupOutcome& outcome, record::RunStatus status,
                      const record::TrainRequest& request, Console& console) {
  if (outcome.failure) {
    launch::show_last_lines(outcome, console);
    throw outcome.failure->error;
  }
  if (status == record::RunStatus::kDone) return;
  throw Error(
      ErrorKind::kInterrupted, "the run was interrupted",
      request.checkpoint_dir.empty() ? "" : "add --resume to continue from its last checkpoint");
}

/// What `lockstep train` is asked for beyond the run itself.
struct TrainCommand {
  record::TrainRequest request;
  launch::TrainingPlan plan;
  std::int64_t global_batch = 0;  ///< 0 = not given
  bool dry_run = false;
};

void check_workers(TrainCommand& command) {
  record::RunSpec& spec = command.request.spec;
  const bool local = command.plan.launcher.local();
  if (command.request.workers_auto) {
    if (!local) {
      throw Error(ErrorKind::kUsage, "--workers auto measures on this machine only",
                  "with --launcher, give the number of workers");
    }
    if (command.dry_run) {
      throw Error(ErrorKind::kUsage, "--dry-run cannot be combined with --workers auto",
                  "give the number of workers");
    }
  } else if (local) {
    launch::plan_workers(spec);
  } else if (spec.workers == 0) {
    throw Error(ErrorKind::kUsage, "--launcher needs the number of workers", "add -n N");
  }
  if (command.global_batch == 0) return;
  if (spec.batch_per_worker > 0) {
    throw Error(ErrorKind::kUsage, "--batch and --global-batch cannot be combined",
                "--batch is the batch per worker, --global-batch that of all workers together");
  }
  if (!command.request.workers_auto) study::share_global_batch(spec, command.global_batch);
}

void check(TrainCommand& command) {
  const record::TrainRequest& request = command.request;
  check_train_request(request);
  launch::check_launcher_options(command.plan.launcher);
  auto& samples = command.request.spec.options.samples;
  if (request.spec.recipe == "gan" && samples.empty()) samples = "gan-samples";
  const launch::RestartPolicy& restarts = command.plan.restarts;
  if (restarts.restarts > 0 && request.checkpoint_dir.empty()) {
    throw Error(ErrorKind::kUsage, "--restarts needs a checkpoint folder", "add --checkpoint DIR");
  }
  if (restarts.min_workers > 0 && restarts.restarts == 0) {
    throw Error(ErrorKind::kUsage, "--min-workers needs --restarts", "add --restarts N");
  }
  check_workers(command);
  launch::require_worker_program();
}

void train(TrainCommand command, const GlobalOptions& options) {
  check(command);
  const record::TrainRequest& request = command.request;

  // A reader of our output that goes away must not take a run of hours with it.
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  Console console(clock);
  if (command.dry_run) {
    console.out(launch::launch_text(launch::make_launch(request, command.plan.launcher)));
    return;
  }
  launch::SignalInbox signals;
  // Before this program causes load itself.
  const record::Machine machine = measure::describe_machine();
  if (request.workers_auto) {
    study::choose_workers(command.request, command.global_batch, machine, console, signals, clock);
  }
  store::StoreSink store(options.store_path, console, {}, collect::keep_digest);
  display::RunDisplay display(console, clock);
  display::JsonSink json(console, clock);
  const launch::TrainingOutcome outcome =
      launch::run_training(request, command.plan, machine,
                           {&store, options.json ? static_cast<record::RunSink*>(&json) : &display},
                           console, signals, clock);
  if (!options.json && !store.place().empty()) console.out(store.place());
  throw_on_failure(outcome.group, outcome.status, request, console);
  store.check();
}

}  // namespace

void add_train_command(CLI::App& app, const GlobalOptions& options) {
  CLI::App& command = add_command(
      app, "train",
      "Trains a recipe with Lockstep's own trainer, one process per worker. Runs on this machine "
      "or, "
      "with --launcher, on the hosts of a cluster.",
      {"lockstep train fashion -n 2 --batch 128 --epochs 3",
       "lockstep train fashion --workers auto --global-batch 256",
       "lockstep train fashion -n 8 --launcher slurm --nodes 2 --partition cpu",
       "lockstep train cifar-resnet18 --data synthetic --steps 100 --trace trace.json",
       "lockstep train transfer --data fruit/ --backbone mobilenet_v2.pt --rotate 15 --flip 0.5",
       "lockstep train steering --data driving/ -n 2 --epochs 10",
       "lockstep train gan --data photos/ --batch 64 --samples sheets/",
       "lockstep train script --model my.pt --data fruit/ --image-size 64 --save trained.pt"});
  auto wanted = std::make_shared<TrainCommand>();
  wanted->request.spec.workers = 0;             // as many as there are cores
  wanted->request.spec.threads_per_worker = 0;  // an equal share of them
  wanted->request.spec.batch_per_worker = 0;    // the recipe's own
  add_train_options(command, wanted->request);
  command
      .add_option("--global-batch", wanted->global_batch,
                  "Examples per step of all workers, B, instead of --batch: b = B / (N A)")
      ->type_name("B")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->group("Training");
  add_launcher_options(command, wanted->plan.launcher);
  command.add_flag("--dry-run", wanted->dry_run, "Show the commands without running them")
      ->group("Cluster");
  command
      .add_option("--restarts", wanted->plan.restarts.restarts,
                  "Restart from the last checkpoint when workers are lost, up to N times")
      ->type_name("N")
      ->check(CLI::Range(0, 1000))
      ->group("Workers");
  command
      .add_option("--min-workers", wanted->plan.restarts.min_workers,
                  "Restart with the remaining workers, at least N (default: with the same number)")
      ->type_name("N")
      ->check(CLI::Range(1, 65'536))
      ->group("Workers");
  set_action(command, [wanted, &options] { train(*wanted, options); });
}

}  // namespace lockstep::cli
