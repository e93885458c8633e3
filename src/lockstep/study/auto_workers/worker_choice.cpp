#include "lockstep/study/auto_workers/worker_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/study/auto_workers/rate_probe.h"
#include "lockstep/study/auto_workers/split_choice.h"

namespace lockstep::study {
namespace {

constexpr int kEpochsWithoutEnd = 1'000'000;

bool can_share(const record::RunSpec& spec, std::int64_t global_batch) {
  return global_batch % (std::int64_t{spec.workers} * spec.accumulate) == 0;
}

/// Several tasks would measure at the same time, each for a run of its own.
void refuse_several_tasks() {
  for (const auto& [size, launcher] :
       {std::pair{"OMPI_COMM_WORLD_SIZE", "mpirun"}, {"SLURM_STEP_NUM_TASKS", "srun"}}) {
    const char* tasks = std::getenv(size);
    if (tasks == nullptr || std::atoi(tasks) < 2) continue;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--workers auto cannot be used in one of {} tasks of {}", tasks, launcher),
        "start one task, or give the number of workers");
  }
}

/// The request of a short run: it ends when its rate is known, and writes no files.
record::TrainRequest trial_of(const record::TrainRequest& request) {
  record::TrainRequest trial = request;
  trial.spec.max_steps = 0;
  trial.spec.epochs = kEpochsWithoutEnd;
  trial.spec.bucket_auto = false;
  trial.spec.options.samples.clear();
  trial.spec.options.save.clear();
  // It needs a validation loss, and does not change what a step costs.
  if (trial.spec.schedule == record::ScheduleShape::kPlateau) {
    trial.spec.schedule = record::ScheduleShape::kConstant;
  }
  trial.validate = false;
  trial.keep_going = true;
  trial.checkpoint_dir.clear();
  trial.checkpoint_every = 0;
  trial.resume = false;
  trial.trace_path.clear();
  return trial;
}

void apply(const launch::CoreSplit& split, std::int64_t global_batch, record::RunSpec& spec) {
  spec.workers = split.workers;
  spec.threads_per_worker = split.threads;
  if (global_batch > 0) share_global_batch(spec, global_batch);
}

/// Trains with one split after the other.
class Trials {
 public:
  Trials(record::TrainRequest common, std::int64_t global_batch, const record::Machine& machine,
         Console& console, launch::SignalInbox& signals, const Clock& clock)
      : common_(std::move(common)),
        global_batch_(global_batch),
        machine_(machine),
        console_(console),
        signals_(signals),
        clock_(clock) {}

  std::optional<double> measure(const launch::CoreSplit& split) {
    const std::string title = "measuring " + launch::describe(split);
    console_.set_status(title + " ...");
    record::TrainRequest request = common_;
    apply(split, global_batch_, request.spec);
    const std::optional<double> rate = run(request);
    if (signals_.take_stop_requests() > 0) interrupt();
    console_.clear_status();
    console_.err(title + ": " +
                 (rate ? format_count(std::llround(*rate)) + " examples/s" : "out of memory"));
    return rate;
  }

  /// Of the last trial that ran out of it.
  const std::optional<Error>& lack_of_memory() const { return lack_of_memory_; }

 private:
  std::optional<double> run(record::TrainRequest& request) {
    RateProbe probe;
    launch::plan_workers(request.spec);
    try {
      const launch::TrainingOutcome outcome =
          launch::run_training(request, {}, machine_, {&probe}, quiet_, signals_, clock_);
      if (outcome.group.stop_requested) interrupt();
      if (const auto& failure = outcome.group.failure) {
        if (failure->error.kind() != ErrorKind::kMemory) {
          console_.clear_status();
          launch::show_last_lines(outcome.group, console_);
          throw failure->error;
        }
        lack_of_memory_ = failure->error;
        return std::nullopt;
      }
    } catch (const RateProbe::Measured&) {
      // Its workers have been ended.
    }
    return probe.examples_per_s();
  }

  [[noreturn]] void interrupt() {
    console_.clear_status();
    throw Error(ErrorKind::kInterrupted, "interrupted while measuring workers; nothing was trained",
                "give --workers N to start without measuring");
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  record::TrainRequest common_;
  std::int64_t global_batch_;
  const record::Machine& machine_;
  Console& console_;
  launch::SignalInbox& signals_;
  const Clock& clock_;
  /// What workers write is the same in every trial, and is shown when the run itself starts.
  std::unique_ptr<std::FILE, Close> nowhere_{std::fopen("/dev/null", "w")};
  Console quiet_{nowhere_ ? nowhere_.get() : stderr, nowhere_ ? nowhere_.get() : stderr, false,
                 clock_};
  std::optional<Error> lack_of_memory_;
};

/// Those whose workers can share the global batch.
std::vector<launch::CoreSplit> splits_for(const record::RunSpec& spec, int cores,
                                          std::int64_t global_batch) {
  std::vector<launch::CoreSplit> splits = launch::core_splits(cores, spec.threads_per_worker);
  std::erase_if(splits, [&](const launch::CoreSplit& split) {
    record::RunSpec with = spec;
    with.workers = split.workers;
    return global_batch > 0 && !can_share(with, global_batch);
  });
  // One worker shares it with nobody; if even that fails, the reason is the accumulation.
  if (splits.empty()) splits.push_back({1, spec.threads_per_worker});
  return splits;
}

}  // namespace

void share_global_batch(record::RunSpec& spec, std::int64_t global_batch) {
  const std::int64_t parts = std::int64_t{spec.workers} * spec.accumulate;
  if (can_share(spec, global_batch)) {
    spec.batch_per_worker = global_batch / parts;
    return;
  }
  const std::int64_t below = global_batch - global_batch % parts;
  throw Error(
      ErrorKind::kUsage,
      fmt::format(
          "a global batch of {} cannot be divided equally among {} workers{}", global_batch,
          spec.workers,
          spec.accumulate > 1 ? fmt::format(" with {} micro-batches each", spec.accumulate) : ""),
      fmt::format("use {}", below > 0 ? fmt::format("{} or {}", below, below + parts)
                                      : fmt::format("{}", parts)));
}

void choose_workers(record::TrainRequest& request, std::int64_t global_batch,
                    const record::Machine& machine, Console& console, launch::SignalInbox& signals,
                    const Clock& clock) {
  refuse_several_tasks();
  request.workers_auto = false;
  record::RunSpec& spec = request.spec;
  spec.workers = 0;
  if (spec.device == "cuda") {
    launch::plan_workers(spec);
    console.err(fmt::format("{}: one per visible GPU, without measuring",
                            launch::describe({spec.workers, spec.threads_per_worker})));
    if (global_batch > 0) share_global_batch(spec, global_batch);
    return;
  }
  const int cores = static_cast<int>(measure::usable_cores().size());
  const std::vector<launch::CoreSplit> splits = splits_for(spec, cores, global_batch);
  Trials trials(trial_of(request), global_batch, machine, console, signals, clock);
  const auto measured =
      measure_splits(splits, [&](const launch::CoreSplit& split) { return trials.measure(split); });
  if (splits.size() == 1) {
    apply(splits.front(), global_batch, spec);
    launch::plan_workers(spec);
    console.err(fmt::format("{}: the only choice on {}, without measuring",
                            launch::describe({spec.workers, spec.threads_per_worker}),
                            counted(cores, "core")));
    return;
  }
  const auto choice = choose_split(measured);
  if (!choice) throw trials.lack_of_memory().value();
  console.err(choice_sentence(measured, *choice));
  apply(measured[choice->at].split, global_batch, spec);
  for (const MeasuredSplit& one : measured) {
    spec.worker_trials.push_back({one.split.workers, one.split.threads, one.examples_per_s()});
  }
}

}  // namespace lockstep::study
