#include "study_slurm.h"

#include <fmt/format.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/measure/machine.h"
#include "run_progress.h"
#include "study_training.h"
#include "worker_program.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using JobPhase = launch::JobState::Phase;

constexpr int kLookMs = 1000;

/// Follows a record that a job writes, for the status line.
class RecordTail {
 public:
  RecordTail(const std::string& path, const Clock& clock) : path_(path), clock_(clock) {}

  /// The progress bar, or nothing before the run has begun.
  std::string bar() {
    std::ifstream file(path_);
    file.seekg(static_cast<std::streamoff>(at_));
    std::string line;
    while (std::getline(file, line) && !file.eof()) {
      at_ += line.size() + 1;
      take(line);
    }
    return progress_ ? progress_->bar() : "";
  }

 private:
  void take(const std::string& line) {
    std::optional<record::Event> event;
    try {
      event = record::from_line(line);
    } catch (const Error&) {
      return;  // what it means is for the collection to say
    }
    if (!event) return;
    if (const auto* started = std::get_if<record::RunStarted>(&*event)) {
      progress_.emplace(*started, clock_);
    }
    const auto* now = std::get_if<record::Progress>(&*event);
    if (now && progress_) progress_->update(*now);
  }

  std::string path_;
  const Clock& clock_;
  std::size_t at_ = 0;
  std::optional<RunProgress> progress_;
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

std::string in_brackets(const std::string& reason) {
  return reason.empty() || reason == "None" ? "" : "(" + reason + ")";
}

void require(const char* program) {
  if (launch::find_program(program)) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("there is no {} in PATH", program),
              "install Slurm's commands (Debian: slurm-client) or leave out --launcher slurm");
}

}  // namespace

StudySlurm::StudySlurm(record::TrainRequest request, launch::ClusterOptions cluster,
                       std::string store_path, Console& console, launch::SignalInbox& signals,
                       const Clock& clock)
    : request_(std::move(request)),
      cluster_(std::move(cluster)),
      store_path_(std::move(store_path)),
      console_(console),
      signals_(signals),
      clock_(clock),
      queue_(clock) {
  require_worker_program();
  for (const char* program : {"sbatch", "squeue", "scontrol", "scancel"}) require(program);
}

study::RunLength StudySlurm::length() const {
  return {request_.spec.epochs, request_.spec.max_steps};
}

bool StudySlurm::resembles(const store::RunSummary& run) const {
  return run.spec.recipe == request_.spec.recipe && run.spec.launcher == "slurm" &&
         run.spec.data.synthetic == request_.spec.data.synthetic;
}

launch::JobFiles StudySlurm::files_of(const study::PlannedRun& planned,
                                      const std::string& study) const {
  const fs::path folder = fs::absolute(store_path_ + ".jobs") / launch::file_name_of(study);
  return {folder /
          launch::file_name_of(fmt::format("{}-r{}", planned.cell.name(), planned.repeat))};
}

std::string StudySlurm::script_of(const study::PlannedRun& planned,
                                  const launch::JobFiles& files) const {
  const record::TrainRequest request = request_of(request_, planned);
  launch::WorkerJob job;
  job.program = fs::absolute(require_worker_program());
  job.arguments = worker_arguments(request);
  job.arguments.push_back("--record=" + files.record());
  job.workers = request.spec.workers;
  job.oversubscribe = request.spec.oversubscribed;
  job.uses_mpi = request.spec.backend == "mpi";
  job.name = "lockstep-" + launch::file_name_of(request.spec.recipe);
  const std::string about = fmt::format(
      "One run of a lockstep study: {}, {} worker(s), batch {}, repeat {}.", request.spec.recipe,
      request.spec.workers, request.spec.batch_per_worker, planned.repeat);
  return launch::batch_script(job, cluster_, files, about);
}

launch::JobTicket StudySlurm::submit(const study::PlannedRun& planned,
                                     const launch::JobFiles& files) {
  return queue_.submit(script_of(planned, files), files);
}

std::string StudySlurm::preview(const study::PlannedRun& planned, const std::string& study) const {
  const launch::JobFiles files = files_of(planned, study);
  return fmt::format("the script of the run of {} x {}, to be {}:\n{}", planned.cell.workers,
                     planned.cell.batch_per_worker, files.script(), script_of(planned, files));
}

void StudySlurm::prepare(const std::vector<study::PlannedRun>& due, const std::string& study) {
  int found = 0;
  int fresh = 0;
  for (const study::PlannedRun& planned : due) {
    if (!planned.ladder.empty()) continue;  // whether it is needed is known only later
    const launch::JobFiles files = files_of(planned, study);
    const bool known = launch::read_ticket(files).has_value();
    try {
      if (!known) submit(planned, files);
    } catch (const Error&) {
      stop();  // what Slurm takes of a study that cannot be carried out must not stay in its queue
      throw;
    }
    submitted_[files.stem] = files;
    ++(known ? found : fresh);
  }
  if (found > 0) console_.err(fmt::format("{} job(s) of an earlier process go on", found));
  if (fresh > 0) {
    console_.err(fmt::format("submitted {} job(s); scripts and logs are in {}", fresh,
                             fs::path(submitted_.begin()->first).parent_path().string()));
  }
}

void StudySlurm::stop() {
  if (signals_.hung_up()) {
    console_.err("the terminal is gone; the jobs go on, and the same command collects them");
    return;
  }
  for (const auto& [stem, files] : submitted_) {
    if (const auto ticket = launch::read_ticket(files)) queue_.cancel(*ticket);
    fs::remove(files.ticket());
  }
  if (!submitted_.empty()) console_.err(fmt::format("cancelled {} job(s)", submitted_.size()));
}

ExecutedRun StudySlurm::run(const study::PlannedRun& planned, const store::RunLabel& label,
                            const std::string& progress) {
  const launch::JobFiles files = files_of(planned, label.study);
  auto ticket = launch::read_ticket(files);
  if (!ticket) ticket = submit(planned, files);
  submitted_[files.stem] = files;
  RecordTail tail(files.record(), clock_);
  while (true) {
    const launch::JobState state = queue_.state(*ticket, files);
    if (state.phase == JobPhase::kEnded || state.phase == JobPhase::kLost) {
      console_.clear_status();
      ExecutedRun executed = collect(files, state, label, request_of(request_, planned));
      submitted_.erase(files.stem);
      fs::remove(files.ticket());
      return executed;
    }
    if (state.waits_for_ever()) {
      console_.clear_status();
      give_up(*ticket, state.reason);
    }
    const std::string bar = tail.bar();
    console_.set_status(fmt::format("{}job {}: {}", progress, ticket->id,
                                    !bar.empty() ? bar
                                    : state.phase == JobPhase::kWaiting
                                        ? "waiting in the queue " + in_brackets(state.reason)
                                        : "starting"));
    pollfd wanted{signals_.fd(), POLLIN, 0};
    ::poll(&wanted, 1, kLookMs);
    if (signals_.take_stop_requests() > 0) {
      console_.clear_status();
      return {RunEnd::kInterrupted, ""};
    }
  }
}

/// Takes the jobs out of the queue that Slurm would never start, and ends the study: others of its
/// jobs go on, and are collected once the command asks for what there is.
void StudySlurm::give_up(const launch::JobTicket& ticket, const std::string& reason) {
  for (const auto& [stem, files] : submitted_) {
    const auto other = launch::read_ticket(files);
    if (!other || !queue_.state(*other, files).waits_for_ever()) continue;
    queue_.cancel(*other);
    fs::remove(files.ticket());
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("Slurm would never start job {} ({}): it is beyond the limits of its "
                          "partition or account",
                          ticket.id, reason),
              "ask for less --time, fewer --nodes or workers, or another --partition; sinfo -l "
              "tells the limits");
}

/// Puts the record of a job that is over into the store.
ExecutedRun StudySlurm::collect(const launch::JobFiles& files, const launch::JobState& state,
                                const store::RunLabel& label, const record::TrainRequest& request) {
  StoreSink store(store_path_, console_, label);
  bool began = false;
  std::optional<record::RunEnded> ended;
  std::string problem;
  const auto begin = [&](record::RunStarted started) {
    started.spec.launcher = "slurm";
    started.spec.queue_wait_s = state.queue_wait_s.value_or(-1);
    store.write(started);
    began = true;
  };
  std::ifstream record(files.record());
  for (std::string line; std::getline(record, line) && !record.eof();) {
    std::optional<record::Event> event;
    try {
      event = record::from_line(line);
    } catch (const Error& error) {
      problem = fmt::format("{}: {}", files.record(), error.what());
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
    problem = state.phase == JobPhase::kLost ? fmt::format("the job ended as {}", state.word)
                                             : last_line(files.log());
    if (problem.empty()) problem = fmt::format("the job ended with exit code {}", state.exit_code);
    store.write(record::WorkerError{0, "worker", problem, "its log is " + files.log()});
  }
  if (!began) {
    record::RunStarted started;
    started.spec = request.spec;
    started.machine = measure::describe_machine();
    started.started_wall_ns = clock_.wall();
    begin(started);
  }
  record::RunEnded end = ended.value_or(record::RunEnded{});
  if (!ended) end.ended_wall_ns = clock_.wall();
  if (!done) end.status = record::RunStatus::kFailed;
  store.write(end);
  store.check();
  return {done ? RunEnd::kDone : RunEnd::kFailed, problem};
}

}  // namespace lockstep::cli
