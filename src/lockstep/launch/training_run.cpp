#include "lockstep/launch/training_run.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/measure/energy.h"
#include "lockstep/measure/machine.h"
#include "lockstep/measure/others_share.h"
#include "lockstep/measure/visible_gpus.h"

namespace lockstep::launch {
namespace {

/// Passes the events of workers to the sinks, and makes sure that a run that began also ends there.
class RunRelay final : public GroupObserver {
 public:
  /// `machine` is what runs record of this host: a worker sees only its share of it.
  RunRelay(std::vector<record::RunSink*> sinks, record::Machine machine,
           std::vector<record::WorkerTrial> worker_trials, const LauncherOptions& launcher,
           Console& console, const Clock& clock)
      : sinks_(std::move(sinks)),
        machine_(std::move(machine)),
        worker_trials_(std::move(worker_trials)),
        launcher_(launcher),
        console_(console),
        clock_(clock) {
    if (launcher_.local()) energy_.emplace(clock);
  }

  /// Of the attempt that comes.
  void set_workers(int workers) { workers_ = workers; }

  void on_event(int rank, const record::Event& event) override {
    // Errors are written by close(), once the first cause is known.
    if (rank != 0 || std::holds_alternative<record::WorkerError>(event)) return;
    if (const auto* started = std::get_if<record::RunStarted>(&event)) {
      started_spec_ = started->spec;
      // An attempt after the first continues the same run.
      if (started_wall_ns_) return;
      started_wall_ns_ = started->started_wall_ns;
      record::RunStarted whole = *started;
      if (launcher_.local()) whole.machine = machine_;
      whole.spec.launcher = launcher_.launcher;
      whole.spec.worker_trials = worker_trials_;
      write(whole);
      for (const record::WorkerError& error : std::exchange(before_start_, {})) write(error);
      return;
    }
    if (const auto* epoch = std::get_if<record::EpochResult>(&event)) {
      // Done again because its checkpoint was not yet on disk.
      if (epoch->epoch <= last_epoch_) return;
      last_epoch_ = epoch->epoch;
      return write(with_energy(*epoch));
    }
    if (const auto* ended = std::get_if<record::RunEnded>(&event)) {
      ended_ = *ended;
      return;
    }
    write(event);
  }

  void on_output(int rank, std::string_view line) override {
    // Other launchers mix the lines of their workers, which already have a prefix.
    const std::string prefix =
        launcher_.local() ? fmt::format("[rank {}/{}] ", rank, workers_) : std::string();
    console_.err(line.starts_with(prefix) ? std::string(line) : prefix + std::string(line));
  }

  void on_stop(bool killing) override {
    console_.err(killing ? "killing the workers"
                         : "stopping at the next step; press Ctrl-C again to kill the workers");
  }

  bool began() const { return started_wall_ns_.has_value(); }
  /// As the last attempt that began described itself.
  const std::optional<record::RunSpec>& started_spec() const { return started_spec_; }

  /// Puts down that the run was started again, and why.
  void note_restart(const Failure& failure, const std::string& how) {
    console_.err(fmt::format("warning: {}", failure.error.what()));
    console_.err(how);
    write_error(failure);
    write_error(record::WorkerError{failure.rank, "restarted", how, ""});
    ended_.reset();
    restarted_ = true;
  }

  /// Writes the end of the run, as rank 0 sent it or, if it could not, as observed here.
  record::RunStatus close(const GroupOutcome& outcome) {
    if (!started_wall_ns_) return record::RunStatus::kFailed;
    if (outcome.failure) write_error(*outcome.failure);
    record::RunEnded ended = ended_.value_or(end_seen_from_here());
    if (outcome.failure) ended.status = record::RunStatus::kFailed;
    if (restarted_) ended.total_s = end_seen_from_here().total_s;  // all attempts together
    ended.energy_source = "not measured: the ranks ran on other hosts";
    if (energy_) {
      ended.energy_j = energy_->total(uses_gpus()).value_or(record::kUnknown);
      ended.energy_source = energy_->source(uses_gpus());
      ended.others_cpu = others_.share().value_or(record::kUnknown);
    }
    write(ended);
    return ended.status;
  }

 private:
  bool uses_gpus() const { return started_spec_ && !started_spec_->device.starts_with("cpu"); }

  /// The epoch with what its training steps used, where that can be read.
  record::EpochResult with_energy(record::EpochResult epoch) {
    if (!energy_) return epoch;
    const auto ago = [now = clock_.monotonic()](double seconds) {
      return now - static_cast<Nanoseconds>(std::max(0.0, seconds) * 1e9);
    };
    const double after = std::isfinite(epoch.val_s) ? epoch.val_s : 0;
    const auto used = energy_->between(ago(after + epoch.train_s), ago(after), uses_gpus());
    if (used) epoch.metrics["energy_j"] = *used;
    return epoch;
  }

  void write_error(const Failure& failure) {
    const Error& error = failure.error;
    write_error(record::WorkerError{failure.rank, std::string(kind_name(error.kind())),
                                    error.what(), error.hint()});
  }

  /// A record begins with the start of the run: what went wrong before waits for it.
  void write_error(const record::WorkerError& error) {
    if (!began()) {
      before_start_.push_back(error);
    } else {
      write(error);
    }
  }

  record::RunEnded end_seen_from_here() const {
    record::RunEnded ended;
    ended.status = record::RunStatus::kInterrupted;
    ended.ended_wall_ns = clock_.wall();
    ended.total_s = static_cast<double>(ended.ended_wall_ns - *started_wall_ns_) * 1e-9;
    return ended;
  }

  void write(const record::Event& event) {
    for (record::RunSink* sink : sinks_) sink->write(event);
  }

  std::vector<record::RunSink*> sinks_;
  record::Machine machine_;
  std::vector<record::WorkerTrial> worker_trials_;  ///< unknown to the workers
  const LauncherOptions& launcher_;
  int workers_ = 1;
  int last_epoch_ = 0;
  bool restarted_ = false;
  std::optional<record::RunSpec> started_spec_;
  Console& console_;
  const Clock& clock_;
  std::optional<std::int64_t> started_wall_ns_;
  std::optional<record::RunEnded> ended_;
  std::vector<record::WorkerError> before_start_;
  std::optional<measure::EnergySampler> energy_;  ///< of this host, where all ranks are on it
  measure::OthersMeter others_;                   ///< likewise; its children are the workers
};

}  // namespace

namespace {

int one_worker_per_gpu() {
  const int gpus = measure::visible_gpus(std::getenv("CUDA_VISIBLE_DEVICES"));
  if (gpus > 0) return gpus;
  throw Error(ErrorKind::kEnvironment, "--device cuda, but no GPU is visible on this host",
              "check nvidia-smi and CUDA_VISIBLE_DEVICES, or state --workers");
}

}  // namespace

CorePlan plan_workers(record::RunSpec& spec) {
  if (spec.device == "cuda" && spec.workers <= 0) spec.workers = one_worker_per_gpu();
  const CorePlan plan =
      plan_usable_cores(spec.workers, spec.threads_per_worker, spec.oversubscribed);
  spec.workers = plan.workers;
  spec.threads_per_worker = plan.threads_per_worker;
  spec.oversubscribed = plan.oversubscribed;
  return plan;
}

namespace {

/// What to try next, or nothing when it has to end here.
std::optional<record::TrainRequest> next_attempt(const record::TrainRequest& request,
                                                 const GroupOutcome& outcome,
                                                 const RestartPolicy& policy, int attempt,
                                                 RunRelay& relay, Console& console) {
  if (attempt >= policy.restarts || !can_restart(outcome, attempt)) return std::nullopt;
  int workers = request.spec.workers;
  if (policy.min_workers > 0) {
    workers -= static_cast<int>(lost_ranks(outcome).size());
    if (workers < policy.min_workers) {
      console.err(fmt::format("{} of {} workers remain, fewer than --min-workers {}",
                              std::max(0, workers), request.spec.workers, policy.min_workers));
      return std::nullopt;
    }
  }
  // What the recipe decides by itself is known once it has started.
  record::TrainRequest complete = request;
  double rate = request.spec.learning_rate;
  if (const auto& started = relay.started_spec()) {
    complete.spec.batch_per_worker = started->batch_per_worker;
    rate = started->learning_rate;
  }
  std::string change;
  auto next = with_workers(complete, workers, rate, change);
  relay.note_restart(
      *outcome.failure,
      fmt::format("restart {} of {} from the last checkpoint with {} workers{}{}", attempt + 1,
                  policy.restarts, workers, change.empty() ? "" : ": ", change));
  return next;
}

/// Hosts that cannot be reached may be back in a while: in 2, 4, 8, then 16 s. False when the user
/// asked for the end meanwhile.
bool wait_for_hosts(int refusals, SignalInbox& signals, const Clock& clock) {
  constexpr Nanoseconds kSecond = 1'000'000'000;
  const Nanoseconds until = clock.monotonic() + (kSecond << std::min(refusals, 4));
  while (signals.take_stop_requests() == 0) {
    const Nanoseconds left = until - clock.monotonic();
    if (left <= 0) return true;
    pollfd wanted{signals.fd(), POLLIN, 0};
    ::poll(&wanted, 1, static_cast<int>(left / 1'000'000) + 1);
  }
  return false;
}

}  // namespace

TrainingOutcome run_training(const record::TrainRequest& request, const TrainingPlan& plan,
                             const record::Machine& machine, std::vector<record::RunSink*> sinks,
                             Console& console, SignalInbox& signals, const Clock& clock) {
  RunRelay relay(std::move(sinks), machine, request.spec.worker_trials, plan.launcher, console,
                 clock);
  GroupLimits limits;
  limits.silence = Seconds(request.heartbeat_s);
  TrainingOutcome outcome;
  std::optional<record::TrainRequest> next = request;
  LauncherOptions launcher = plan.launcher;
  int refusals = 0;
  for (int attempt = 0; next; ++attempt) {
    const record::TrainRequest now = *next;
    const Launch launch = make_launch(now, launcher);
    relay.set_workers(now.spec.workers);
    console.set_status(fmt::format("starting {} ({}) ...", counted(now.spec.workers, "worker"),
                                   record::name_of(plan.launcher.launcher)));
    outcome.group = run_group(launch.specs, relay, signals, clock, limits);
    next = next_attempt(now, outcome.group, plan.restarts, attempt, relay, console);
    for (std::string& host : hosts_of_lost_ranks(outcome.group)) {
      launcher.doubtful_hosts.push_back(std::move(host));
    }
    refusals = was_refused(outcome.group) ? refusals + 1 : 0;
    if (next && refusals > 0 && !wait_for_hosts(refusals, signals, clock)) {
      outcome.group.stop_requested = true;
      next.reset();
    }
  }
  outcome.status = relay.close(outcome.group);
  outcome.began = relay.began();
  return outcome;
}

void show_last_lines(const GroupOutcome& outcome, Console& console) {
  const int rank = outcome.failure->rank;
  // One mpirun or srun represents all ranks, and its lines were shown as they came.
  if (static_cast<std::size_t>(rank) >= outcome.workers.size()) return;
  if (!outcome.workers.front().title.empty()) return;
  const auto& lines = outcome.workers[static_cast<std::size_t>(rank)].last_lines;
  if (lines.empty()) return;
  console.err(fmt::format("last output of {}:", worker_title(rank, outcome.workers.size())));
  for (const std::string& line : lines) console.err("  " + line);
}

}  // namespace lockstep::launch
