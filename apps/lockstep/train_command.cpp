#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <csignal>
#include <memory>

#include "command.h"
#include "launcher_options.h"
#include "lockstep/base/console.h"
#include "lockstep/base/error.h"
#include "lockstep/collect/run_digests.h"
#include "lockstep/display/json_sink.h"
#include "lockstep/display/run_display.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/measure/machine.h"
#include "lockstep/store/store_sink.h"
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
  bool dry_run = false;
};

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
  if (command.plan.launcher.local()) {
    launch::plan_workers(command.request.spec);
  } else if (request.spec.workers == 0) {
    throw Error(ErrorKind::kUsage, "--launcher needs the number of workers", "add -n N");
  }
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
  store::StoreSink store(options.store_path, console, {}, collect::keep_digest);
  display::RunDisplay display(console, clock);
  display::JsonSink json(console, clock);
  launch::SignalInbox signals;
  const launch::TrainingOutcome outcome =
      launch::run_training(request, command.plan, measure::describe_machine(),
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
