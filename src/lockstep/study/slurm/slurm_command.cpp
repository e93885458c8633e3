#include "lockstep/study/slurm/slurm_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/study/command/command_environment.h"
#include "lockstep/study/command/command_executor.h"

namespace lockstep::study {
namespace {

using JobPhase = launch::JobState::Phase;

/// Where the ranks of a job are watched from. It stays when the process of the study is lost.
std::string watch_folder(const launch::JobFiles& files) {
  return files.stem + ".watch";
}

class CommandJob final : public WatchedJob {
 public:
  CommandJob(ForeignCommand command, const PlannedRun& planned, store::RunLabel label,
             const launch::JobFiles& files, std::string setup, const ExecutorContext& context,
             std::string progress)
      : command_(std::move(command)),
        planned_(planned),
        label_(std::move(label)),
        files_(files),
        setup_(std::move(setup)),
        context_(context),
        progress_(std::move(progress)),
        importer_(command_.import_options(planned)),
        output_(CommandOutput::of_job(files.log(), importer_, context.clock)) {}

  bool show() override {
    const std::string& latest = output_.latest();
    if (!latest.empty()) context_.console.set_status(progress_ + latest);
    return !latest.empty();
  }

  ExecutedRun collect(const launch::JobState& state) override {
    output_.scan();
    CommandEnd end;
    end.clean = state.phase == JobPhase::kEnded && state.exit_code == 0;
    const std::int64_t now = context_.clock.wall();
    const std::int64_t began = state.started_wall_ns != 0 ? state.started_wall_ns : now;
    const std::int64_t ended = state.ended_wall_ns != 0 ? state.ended_wall_ns : now;
    end.seconds = static_cast<double>(std::max<std::int64_t>(0, ended - began)) * 1e-9;
    end.problem = problem_of(state);
    if (command_.watch) end.records = watch::WatchFolder::records_of(watch_folder(files_)).string();
    CommandRecord record(command_, planned_, label_, output_, context_);
    record.begin(began, record::Launcher::kSlurm, state.queue_wait_s.value_or(-1));
    ExecutedRun executed = record.finish(end);
    std::error_code ignored;
    std::filesystem::remove_all(watch_folder(files_), ignored);
    if (executed.end == RunEnd::kDone && !record.has_figures() && !command_.wall_time) {
      context_.console.err(whole_run_note(command_.text(), output_.path().string()));
    }
    return executed;
  }

 private:
  std::string problem_of(const launch::JobState& state) const {
    const launch::JobEnd end = launch::end_of_job(state, launch::end_of_log(files_), setup_);
    const std::string reason = output_.failure();
    return end.output_explains && !reason.empty() ? end.text + "; " + reason : end.text;
  }

  ForeignCommand command_;
  PlannedRun planned_;
  store::RunLabel label_;
  launch::JobFiles files_;
  std::string setup_;  ///< of the user; empty = none
  const ExecutorContext& context_;
  std::string progress_;
  import::Importer importer_;
  CommandOutput output_;
};

void require_setup(const std::string& path) {
  if (path.empty() || std::filesystem::is_regular_file(path)) return;
  throw Error(ErrorKind::kUsage, fmt::format("--setup {}: no such file", path),
              "give a shell file with what your jobs need: module load ..., conda activate ...");
}

}  // namespace

bool starts_workers_itself(const std::vector<std::string>& command) {
  if (has_placeholder(command, "workers_per_node")) return true;
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    const std::string name = std::filesystem::path(word).filename().string();
    return name == "torchrun" || name == "torch.distributed.run" ||
           name == "torch.distributed.launch" || name == "accelerate" || name == "deepspeed" ||
           name == "mpirun" || name == "horovodrun";
  });
}

SlurmCommand::SlurmCommand(ForeignCommand command, launch::ClusterOptions cluster,
                           const ExecutorContext& context)
    : command_(std::move(command)), cluster_(std::move(cluster)), context_(context) {
  const import::Importer checks_the_pattern(command_.import_options({}));
  require_setup(cluster_.setup);
}

std::string SlurmCommand::title() const {
  return command_title(command_.words);
}

bool SlurmCommand::resembles(const store::RunSummary& run) const {
  return run.spec.command == command_.text() && run.spec.launcher == record::Launcher::kSlurm;
}

std::string SlurmCommand::script(const PlannedRun& planned, const launch::JobFiles& files) const {
  launch::CommandJob job;
  job.name = "lockstep-" + launch::file_name_of(command_.network);
  const std::int64_t batch = planned.cell.batch_per_worker;
  job.about = fmt::format("One run of a lockstep study: {}, {}{}, repeat {}.", command_.network,
                          counted(planned.cell.workers, "worker"),
                          batch > 0 ? fmt::format(", batch {}", batch) : "", planned.repeat);
  job.shape = cluster_.shape(planned.cell.workers);
  job.threads = std::max(1, command_.values.threads);
  job.task_per_node = starts_workers_itself(command_.words);
  job.environment =
      job_environment(command_.watch ? watch_folder(files) : "", command_.values.threads);
  if (command_.watch) {
    job.python_path = watch::WatchFolder::python_of(watch_folder(files)).string();
  }
  job.data_limit = command_.memory_bytes / static_cast<std::uint64_t>(planned.cell.workers);
  CommandValues values = command_.values;
  values.nodes = job.shape.nodes;
  values.workers_per_node = job.shape.workers_per_node;
  values.master_address = "${MASTER_ADDR}";
  values.master_port = "${MASTER_PORT}";
  job.words = expand_command(command_.words, planned, values);
  return launch::command_script(job, cluster_, files);
}

void SlurmCommand::lay_out(const launch::JobFiles& files) const {
  if (!command_.watch) return;
  std::filesystem::remove_all(watch_folder(files));
  watch::WatchFolder(watch_folder(files)).keep();
}

std::unique_ptr<WatchedJob> SlurmCommand::watch(const PlannedRun& planned,
                                                const store::RunLabel& label,
                                                const launch::JobFiles& files,
                                                const std::string& progress) const {
  ForeignCommand command = command_;
  command.values.nodes = cluster_.shape(planned.cell.workers).nodes;
  return std::make_unique<CommandJob>(std::move(command), planned, label, files, cluster_.setup,
                                      context_, progress);
}

}  // namespace lockstep::study
