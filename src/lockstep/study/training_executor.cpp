#include "lockstep/study/training_executor.h"

#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/measure/machine.h"
#include "lockstep/store/store_sink.h"

namespace lockstep::study {
namespace {

/// A run that failed before its workers reported its start is a result too.
void keep_unstarted(store::StoreSink& store, const record::TrainRequest& request,
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

record::TrainRequest request_of(const record::TrainRequest& common, const PlannedRun& planned) {
  record::TrainRequest request = common;
  request.spec.workers = planned.cell.workers;
  request.spec.batch_per_worker = planned.cell.batch_per_worker;
  request.spec.strategy = planned.cell.strategy;
  request.spec.seed += static_cast<std::uint64_t>(planned.repeat - 1);
  return request;
}

TrainingExecutor::TrainingExecutor(record::TrainRequest request, ExecutorContext context)
    : request_(std::move(request)), context_(std::move(context)) {
  launch::require_worker_program();
}

RunLength TrainingExecutor::length() const {
  return {request_.spec.epochs, request_.spec.max_steps};
}

bool TrainingExecutor::resembles(const store::RunSummary& run) const {
  return run.spec.recipe == request_.spec.recipe && run.spec.command.empty() &&
         run.spec.data.synthetic == request_.spec.data.synthetic;
}

ExecutedRun TrainingExecutor::run(const PlannedRun& planned, const store::RunLabel& label,
                                  const std::string& progress) {
  record::TrainRequest request = request_of(request_, planned);
  if (!machine_) machine_ = measure::describe_machine();
  store::StoreSink store(context_.store_path, context_.console, label, context_.after_run);
  const std::unique_ptr<record::RunSink> status = context_.status_line(progress);
  launch::plan_workers(request.spec);
  const launch::TrainingOutcome outcome =
      launch::run_training(request, {}, *machine_, {&store, status.get()}, context_.console,
                           context_.signals, context_.clock);
  context_.console.clear_status();
  if (outcome.group.failure) {
    const launch::Failure& failure = *outcome.group.failure;
    // What is wrong with the command line is wrong for every run.
    if (failure.error.kind() == ErrorKind::kUsage && !outcome.began) throw failure.error;
    const bool out_of_memory = failure.error.kind() == ErrorKind::kMemory;
    if (!out_of_memory) launch::show_last_lines(outcome.group, context_.console);
    if (!outcome.began) keep_unstarted(store, request, *machine_, failure, context_.clock.wall());
    store.check();
    return {out_of_memory ? RunEnd::kOutOfMemory : RunEnd::kFailed, failure.error.what()};
  }
  store.check();
  if (outcome.status != record::RunStatus::kDone) return {RunEnd::kInterrupted, ""};
  return {RunEnd::kDone, ""};
}

}  // namespace lockstep::study
