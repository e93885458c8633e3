#include "study_training.h"

#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/measure/machine.h"
#include "run_progress.h"
#include "store_sink.h"
#include "training_run.h"
#include "worker_program.h"

namespace lockstep::cli {
namespace {

/// The progress of one run on the status line.
class StatusSink final : public RunSink {
 public:
  StatusSink(std::string prefix, Console& console, const Clock& clock)
      : prefix_(std::move(prefix)), console_(console), clock_(clock) {}

  void write(const record::Event& event) override {
    if (const auto* started = std::get_if<record::RunStarted>(&event)) {
      progress_.emplace(*started, clock_);
    }
    const auto* epoch = std::get_if<record::EpochResult>(&event);
    if (epoch && progress_) progress_->finish_epoch(*epoch);
    const auto* now = std::get_if<record::Progress>(&event);
    if (!now || !progress_) return;
    progress_->update(*now);
    console_.set_status(prefix_ + progress_->bar());
  }

 private:
  std::string prefix_;
  Console& console_;
  const Clock& clock_;
  std::optional<RunProgress> progress_;
};

/// A run that failed before its workers said anything is a result all the same.
void keep_unstarted(StoreSink& store, const record::TrainRequest& request,
                    const record::Machine& machine, const launch::Failure& failure,
                    std::int64_t now) {
  record::RunStarted started;
  started.spec = request.spec;
  started.machine = machine;
  started.started_wall_ns = now;
  store.write(started);
  store.write(record::WorkerError{failure.rank, std::string(kind_name(failure.error.kind())),
                                  failure.error.what(), failure.error.hint()});
  record::RunEnded ended;
  ended.status = record::RunStatus::kFailed;
  ended.ended_wall_ns = now;
  store.write(ended);
}

}  // namespace

record::TrainRequest request_of(const record::TrainRequest& common,
                                const study::PlannedRun& planned) {
  record::TrainRequest request = common;
  request.spec.workers = planned.cell.workers;
  request.spec.batch_per_worker = planned.cell.batch_per_worker;
  request.spec.strategy = planned.cell.strategy;
  request.spec.seed += static_cast<std::uint64_t>(planned.repeat - 1);
  return request;
}

StudyTraining::StudyTraining(record::TrainRequest request, TrainingLauncher launcher,
                             std::string store_path, Console& console, const Clock& clock)
    : request_(std::move(request)),
      launcher_(std::move(launcher)),
      store_path_(std::move(store_path)),
      console_(console),
      clock_(clock) {
  require_worker_program();
}

study::RunLength StudyTraining::length() const {
  return {request_.spec.epochs, request_.spec.max_steps};
}

bool StudyTraining::resembles(const store::RunSummary& run) const {
  return run.spec.recipe == request_.spec.recipe && run.spec.command.empty() &&
         run.spec.data.synthetic == request_.spec.data.synthetic;
}

ExecutedRun StudyTraining::run(const study::PlannedRun& planned, const store::RunLabel& label,
                               const std::string& progress) {
  record::TrainRequest request = request_of(request_, planned);
  if (!machine_) machine_ = measure::describe_machine();
  StoreSink store(store_path_, console_, label);
  StatusSink status(progress, console_, clock_);
  const TrainingOutcome outcome = launcher_(request, *machine_, {&store, &status});
  console_.clear_status();
  if (outcome.group.failure) {
    const launch::Failure& failure = *outcome.group.failure;
    // What is wrong with the command line is wrong for every run.
    if (failure.error.kind() == ErrorKind::kUsage && !outcome.began) throw failure.error;
    const bool out_of_memory = failure.error.kind() == ErrorKind::kMemory;
    if (!out_of_memory) show_last_lines(outcome.group, console_);
    if (!outcome.began) keep_unstarted(store, request, *machine_, failure, clock_.wall());
    store.check();
    return {out_of_memory ? RunEnd::kOutOfMemory : RunEnd::kFailed, failure.error.what()};
  }
  store.check();
  if (outcome.status != record::RunStatus::kDone) return {RunEnd::kInterrupted, ""};
  return {RunEnd::kDone, ""};
}

}  // namespace lockstep::cli
