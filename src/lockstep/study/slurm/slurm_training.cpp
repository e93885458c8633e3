#include "lockstep/study/slurm/slurm_training.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/cluster/launchers.h"
#include "lockstep/launch/worker_program.h"
#include "lockstep/measure/machine.h"
#include "lockstep/study/training_executor.h"

namespace lockstep::study {
namespace {

using JobPhase = launch::JobState::Phase;

/// Follows the record that a job writes, for the status line.
class RecordTail {
 public:
  RecordTail(const std::string& path, std::unique_ptr<record::RunSink> status)
      : path_(path), status_(std::move(status)) {}

  /// Shows what was added. False before the run has begun.
  bool show() {
    std::ifstream file(path_);
    file.seekg(static_cast<std::streamoff>(at_));
    std::string line;
    while (std::getline(file, line) && !file.eof()) {
      at_ += line.size() + 1;
      take(line);
    }
    return began_;
  }

 private:
  void take(const std::string& line) {
    std::optional<record::Event> event;
    try {
      event = record::from_line(line);
    } catch (const Error&) {
      return;  // the collection reports it
    }
    if (!event) return;
    began_ = began_ || std::holds_alternative<record::RunStarted>(*event);
    status_->write(*event);
  }

  std::string path_;
  std::unique_ptr<record::RunSink> status_;
  std::size_t at_ = 0;
  bool began_ = false;
};

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("error: ")) return line.substr(7);
    if (!line.empty()) last = line;
  }
  return last;
}

class TrainingJob final : public WatchedJob {
 public:
  TrainingJob(record::TrainRequest request, store::RunLabel label, launch::JobFiles files,
              std::string setup, const ExecutorContext& context, const std::string& progress)
      : request_(std::move(request)),
        label_(std::move(label)),
        files_(std::move(files)),
        setup_(std::move(setup)),
        context_(context),
        tail_(files_.record(), context.status_line(progress)) {}

  bool show() override { return tail_.show(); }
  ExecutedRun collect(const launch::JobState& state) override;

 private:
  record::TrainRequest request_;
  store::RunLabel label_;
  launch::JobFiles files_;
  std::string setup_;  ///< of the user; empty = none
  const ExecutorContext& context_;
  RecordTail tail_;
};

ExecutedRun TrainingJob::collect(const launch::JobState& state) {
  store::StoreSink store(context_.store_path, context_.console, label_, context_.after_run);
  bool began = false;
  std::optional<record::RunEnded> ended;
  std::string problem;
  const auto begin = [&](record::RunStarted started) {
    started.spec.launcher = record::Launcher::kSlurm;
    started.spec.queue_wait_s = state.queue_wait_s.value_or(-1);
    store.write(started);
    began = true;
  };
  std::ifstream record(files_.record());
  for (std::string line; std::getline(record, line) && !record.eof();) {
    std::optional<record::Event> event;
    try {
      event = record::from_line(line);
    } catch (const Error& error) {
      problem = fmt::format("{}: {}", files_.record(), error.what());
      break;
    }
    if (!event) continue;
    if (auto* started = std::get_if<record::RunStarted>(&*event)) {
      if (!began) begin(*started);
    } else if (auto* end = std::get_if<record::RunEnded>(&*event)) {
      ended = *end;
    } else {
      if (auto* error = std::get_if<record::WorkerError>(&*event)) problem = error->message;
      if (began || std::holds_alternative<record::WorkerError>(*event)) store.write(*event);
    }
  }
  const bool done = ended && ended->status == record::RunStatus::kDone && state.exit_code == 0 &&
                    state.phase == JobPhase::kEnded && problem.empty();
  if (!done && problem.empty()) {
    const launch::JobEnd end = launch::end_of_job(state, launch::end_of_log(files_), setup_);
    const bool own_end = state.phase == JobPhase::kEnded && end.output_explains;
    if (own_end) problem = last_line(files_.log());
    if (problem.empty()) problem = end.text;
    store.write(record::WorkerError{0, "worker", problem, "its log is " + files_.log()});
  }
  if (!began) {
    record::RunStarted started;
    started.spec = request_.spec;
    started.machine = measure::describe_machine();
    started.started_wall_ns = context_.clock.wall();
    begin(started);
  }
  record::RunEnded end = ended.value_or(record::RunEnded{});
  if (!ended) end.ended_wall_ns = context_.clock.wall();
  if (!done) end.status = record::RunStatus::kFailed;
  store.write(end);
  store.check();
  return {done ? RunEnd::kDone : RunEnd::kFailed, problem};
}

}  // namespace

SlurmTraining::SlurmTraining(record::TrainRequest request, launch::ClusterOptions cluster,
                             const ExecutorContext& context)
    : request_(std::move(request)), cluster_(std::move(cluster)), context_(context) {
  launch::require_worker_program();
}

RunLength SlurmTraining::length() const {
  return {request_.spec.epochs, request_.spec.max_steps};
}

bool SlurmTraining::resembles(const store::RunSummary& run) const {
  return run.spec.recipe == request_.spec.recipe && run.spec.launcher == record::Launcher::kSlurm &&
         run.spec.data.synthetic == request_.spec.data.synthetic;
}

std::string SlurmTraining::script(const PlannedRun& planned, const launch::JobFiles& files) const {
  const record::TrainRequest request = request_of(request_, planned);
  launch::WorkerJob job;
  job.program = std::filesystem::absolute(launch::require_worker_program());
  job.arguments = launch::worker_arguments(request);
  job.arguments.push_back("--record=" + files.record());
  job.workers = request.spec.workers;
  job.threads = request.spec.threads_per_worker;
  job.oversubscribe = request.spec.oversubscribed;
  job.uses_mpi = request.spec.backend == record::Backend::kMpi;
  job.name = "lockstep-" + launch::file_name_of(request.spec.recipe);
  const std::string about = fmt::format(
      "One run of a lockstep study: {}, {}, batch {}, repeat {}.", request.spec.recipe,
      counted(request.spec.workers, "worker"), request.spec.batch_per_worker, planned.repeat);
  return launch::batch_script(job, cluster_, files, about);
}

std::unique_ptr<WatchedJob> SlurmTraining::watch(const PlannedRun& planned,
                                                 const store::RunLabel& label,
                                                 const launch::JobFiles& files,
                                                 const std::string& progress) const {
  return std::make_unique<TrainingJob>(request_of(request_, planned), label, files, cluster_.setup,
                                       context_, progress);
}

}  // namespace lockstep::study
