#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <memory>

#include "command.h"
#include "console.h"
#include "lockstep/base/error.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/launch/local_workers.h"
#include "lockstep/launch/worker_group.h"
#include "lockstep/measure/machine.h"
#include "run_display.h"
#include "store_sink.h"
#include "train_options.h"
#include "worker_program.h"

namespace lockstep::cli {
namespace {

/// Prints each event as it came, one JSON object a line.
class JsonSink final : public RunSink {
 public:
  explicit JsonSink(Console& console) : console_(console) {}
  void write(const record::Event& event) override { console_.out(record::to_line(event)); }

 private:
  Console& console_;
};

/// Hands what workers say on to the sinks, and sees to it that a run that began also ends there.
class RunRelay final : public launch::GroupObserver {
 public:
  /// `machine` is what runs record of this host: a worker sees only its share of it.
  RunRelay(std::vector<RunSink*> sinks, record::Machine machine, int workers, Console& console,
           const Clock& clock)
      : sinks_(std::move(sinks)),
        machine_(std::move(machine)),
        workers_(workers),
        console_(console),
        clock_(clock) {}

  void on_event(int rank, const record::Event& event) override {
    // Errors are written by close(), once the first cause is known.
    if (rank != 0 || std::holds_alternative<record::WorkerError>(event)) return;
    if (const auto* started = std::get_if<record::RunStarted>(&event)) {
      started_wall_ns_ = started->started_wall_ns;
      record::RunStarted whole = *started;
      whole.machine = machine_;
      write(whole);
      return;
    }
    if (const auto* ended = std::get_if<record::RunEnded>(&event)) {
      ended_ = *ended;
      return;
    }
    write(event);
  }

  void on_output(int rank, std::string_view line) override {
    const std::string prefix = fmt::format("[rank {}/{}] ", rank, workers_);
    console_.err(line.starts_with(prefix) ? std::string(line) : prefix + std::string(line));
  }

  void on_stop(bool killing) override {
    console_.err(killing ? "killing the workers"
                         : "stopping at the next step; press Ctrl-C again to kill the workers");
  }

  /// Writes the end of the run, as rank 0 told it or, where it could not, as it looks from here.
  record::RunStatus close(const launch::GroupOutcome& outcome) {
    if (!started_wall_ns_) return record::RunStatus::kFailed;
    if (outcome.failure) {
      const Error& error = outcome.failure->error;
      write(record::WorkerError{outcome.failure->rank, std::string(kind_name(error.kind())),
                                error.what(), error.hint()});
    }
    record::RunEnded ended = ended_.value_or(end_seen_from_here());
    if (outcome.failure) ended.status = record::RunStatus::kFailed;
    write(ended);
    return ended.status;
  }

 private:
  record::RunEnded end_seen_from_here() const {
    record::RunEnded ended;
    ended.status = record::RunStatus::kInterrupted;
    ended.ended_wall_ns = clock_.wall();
    ended.total_s = static_cast<double>(ended.ended_wall_ns - *started_wall_ns_) * 1e-9;
    return ended;
  }

  void write(const record::Event& event) {
    for (RunSink* sink : sinks_) sink->write(event);
  }

  std::vector<RunSink*> sinks_;
  record::Machine machine_;
  int workers_;
  Console& console_;
  const Clock& clock_;
  std::optional<std::int64_t> started_wall_ns_;
  std::optional<record::RunEnded> ended_;
};

launch::CorePlan plan_workers(record::RunSpec& spec) {
  const std::vector<int> usable = measure::usable_cores();
  launch::CorePlan plan =
      launch::plan_cores(usable, spec.workers, spec.threads_per_worker, spec.oversubscribed);
  // A control group that allows less than all cores says how many, not which: pinned to the first
  // of them, every container of a host would use the same ones.
  if (usable.size() < measure::affinity_cores().size()) {
    for (std::vector<int>& share : plan.cores) share.clear();
  }
  spec.workers = plan.workers;
  spec.threads_per_worker = plan.threads_per_worker;
  spec.oversubscribed = plan.oversubscribed;
  return plan;
}

void show_last_lines(const launch::GroupOutcome& outcome, Console& console) {
  const int rank = outcome.failure->rank;
  const auto& lines = outcome.workers[static_cast<std::size_t>(rank)].last_lines;
  if (lines.empty()) return;
  console.err(
      fmt::format("last output of {}:", launch::worker_title(rank, outcome.workers.size())));
  for (const std::string& line : lines) console.err("  " + line);
}

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
  const launch::CorePlan plan = plan_workers(request.spec);
  const std::string program = require_worker_program();

  // A reader of our output that goes away must not take a run of hours with it.
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  Console console(clock);
  StoreSink store(options.store_path, console);
  RunDisplay display(console, clock);
  JsonSink json(console);
  RunRelay relay({&store, options.json ? static_cast<RunSink*>(&json) : &display},
                 measure::describe_machine(), plan.workers, console, clock);

  launch::SignalInbox signals;
  const launch::LocalWorkers local;
  console.set_status(fmt::format("starting {} x {} ...", plan.workers, program));
  std::vector<std::string> arguments{"train"};
  for (std::string& argument : train_arguments(request)) arguments.push_back(std::move(argument));
  const launch::GroupOutcome outcome = launch::run_group(
      local.specs(program, arguments, plan, worker_environment()), relay, signals, clock);

  const record::RunStatus status = relay.close(outcome);
  if (!options.json && !store.place().empty()) console.out(store.place());
  judge(outcome, status, request, console);
  store.check();
}

}  // namespace

void add_train_command(CLI::App& app, const GlobalOptions& options) {
  CLI::App& command = add_command(
      app, "train",
      "Trains a recipe on this machine, one worker process for each share of its cores.",
      {"lockstep train fashion -n 2 --batch 128 --epochs 3",
       "lockstep train cifar-resnet18 --data synthetic --steps 100 --trace trace.json"});
  auto request = std::make_shared<record::TrainRequest>();
  request->spec.workers = 0;             // as many as there are cores
  request->spec.threads_per_worker = 0;  // an equal share of them
  add_train_options(command, *request);
  set_action(command, [request, &options] { train(*request, options); });
}

}  // namespace lockstep::cli
