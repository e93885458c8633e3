#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <memory>

#include "command.h"
#include "console.h"
#include "json_sink.h"
#include "lockstep/base/error.h"
#include "lockstep/measure/machine.h"
#include "run_display.h"
#include "store_sink.h"
#include "train_options.h"
#include "training_run.h"
#include "worker_program.h"

namespace lockstep::cli {
namespace {

/// Throws what went wrong, if anything did.
void judge(const launch::GroupOutcome& outcome, record::RunStatus status,
           const record::TrainRequest& request, Console& console) {
  if (outcome.failure) {
    show_last_lines(outcome, console);
    throw outcome.failure->error;
  }
  if (status == record::RunStatus::kDone) return;
  throw Error(
      ErrorKind::kInterrupted, "the run was interrupted before its end",
      request.checkpoint_dir.empty() ? "" : "add --resume to go on from its last checkpoint");
}

void train(record::TrainRequest request, const GlobalOptions& options) {
  check_train_request(request);
  auto& samples = request.spec.options.samples;
  if (request.spec.recipe == "gan" && samples.empty()) samples = "gan-samples";
  const launch::CorePlan plan = plan_workers(request.spec);
  require_worker_program();

  // A reader of our output that goes away must not take a run of hours with it.
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  Console console(clock);
  StoreSink store(options.store_path, console);
  RunDisplay display(console, clock);
  JsonSink json(console, clock);
  launch::SignalInbox signals;
  const TrainingOutcome outcome = run_training(
      request, plan, measure::describe_machine(),
      {&store, options.json ? static_cast<RunSink*>(&json) : &display}, console, signals, clock);
  if (!options.json && !store.place().empty()) console.out(store.place());
  judge(outcome.group, outcome.status, request, console);
  store.check();
}

}  // namespace

void add_train_command(CLI::App& app, const GlobalOptions& options) {
  CLI::App& command = add_command(
      app, "train",
      "Trains a recipe on this machine, one worker process for each share of its cores.",
      {"lockstep train fashion -n 2 --batch 128 --epochs 3",
       "lockstep train cifar-resnet18 --data synthetic --steps 100 --trace trace.json",
       "lockstep train transfer --data fruit/ --backbone mobilenet_v2.pt --rotate 15 --flip 0.5",
       "lockstep train steering --data driving/ -n 2 --epochs 10",
       "lockstep train gan --data photos/ --batch 64 --samples sheets/",
       "lockstep train script --model my.pt --data fruit/ --image-size 64 --save trained.pt"});
  auto request = std::make_shared<record::TrainRequest>();
  request->spec.workers = 0;             // as many as there are cores
  request->spec.threads_per_worker = 0;  // an equal share of them
  request->spec.batch_per_worker = 0;    // the recipe's own
  add_train_options(command, *request);
  set_action(command, [request, &options] { train(*request, options); });
}

}  // namespace lockstep::cli
