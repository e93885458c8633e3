#include "training_run.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/launch/local_workers.h"
#include "lockstep/measure/machine.h"
#include "train_options.h"
#include "worker_program.h"

namespace lockstep::cli {
namespace {

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

  bool began() const { return started_wall_ns_.has_value(); }

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

}  // namespace

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

TrainingOutcome run_training(const record::TrainRequest& request, const launch::CorePlan& plan,
                             const record::Machine& machine, std::vector<RunSink*> sinks,
                             Console& console, launch::SignalInbox& signals, const Clock& clock) {
  const std::string program = require_worker_program();
  RunRelay relay(std::move(sinks), machine, plan.workers, console, clock);
  const launch::LocalWorkers local;
  console.set_status(fmt::format("starting {} x {} ...", plan.workers, program));
  std::vector<std::string> arguments{"train"};
  record::TrainRequest asked = request;
  asked.memory_bytes = 0;  // set from here, so that it holds from the worker's first allocation on
  for (std::string& argument : train_arguments(asked)) arguments.push_back(std::move(argument));
  auto specs = local.specs(program, arguments, plan, worker_environment());
  for (launch::ProcessSpec& spec : specs) {
    spec.data_limit = request.memory_bytes / static_cast<std::uint64_t>(plan.workers);
  }
  TrainingOutcome outcome;
  outcome.group = launch::run_group(std::move(specs), relay, signals, clock);
  outcome.status = relay.close(outcome.group);
  outcome.began = relay.began();
  return outcome;
}

void show_last_lines(const launch::GroupOutcome& outcome, Console& console) {
  const int rank = outcome.failure->rank;
  const auto& lines = outcome.workers[static_cast<std::size_t>(rank)].last_lines;
  if (lines.empty()) return;
  console.err(
      fmt::format("last output of {}:", launch::worker_title(rank, outcome.workers.size())));
  for (const std::string& line : lines) console.err("  " + line);
}

}  // namespace lockstep::cli
