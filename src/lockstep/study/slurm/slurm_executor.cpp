#include "lockstep/study/slurm/slurm_executor.h"

#include <fmt/format.h>
#include <poll.h>

#include <filesystem>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

namespace lockstep::study {
namespace {

namespace fs = std::filesystem;
using JobPhase = launch::JobState::Phase;

constexpr int kLookMs = 1000;

std::string in_brackets(const std::string& reason) {
  return reason.empty() || reason == "None" ? "" : "(" + reason + ")";
}

void require(const char* program) {
  if (launch::find_program(program)) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("{} was not found in PATH", program),
              "install Slurm's commands (Debian: slurm-client) or omit --launcher slurm");
}

}  // namespace

SlurmExecutor::SlurmExecutor(std::unique_ptr<SlurmJobs> jobs, ExecutorContext context)
    : jobs_(std::move(jobs)), context_(std::move(context)), queue_(context_.clock) {
  for (const char* program : {"sbatch", "squeue", "scontrol", "scancel"}) require(program);
}

launch::JobFiles SlurmExecutor::files_of(const PlannedRun& planned,
                                         const std::string& study) const {
  const fs::path folder = fs::absolute(context_.store_path + ".jobs") / launch::file_name_of(study);
  return {folder /
          launch::file_name_of(fmt::format("{}-r{}", planned.cell.name(), planned.repeat))};
}

launch::JobTicket SlurmExecutor::submit(const PlannedRun& planned, const launch::JobFiles& files) {
  jobs_->lay_out(files);
  return queue_.submit(jobs_->script(planned, files), files);
}

std::string SlurmExecutor::preview(const PlannedRun& planned, const std::string& study) const {
  const launch::JobFiles files = files_of(planned, study);
  return fmt::format("script for the run of {} x {} ({}):\n{}", planned.cell.workers,
                     planned.cell.batch_per_worker, files.script(), jobs_->script(planned, files));
}

void SlurmExecutor::prepare(const std::vector<PlannedRun>& due, const std::string& study) {
  int found = 0;
  int fresh = 0;
  for (const PlannedRun& planned : due) {
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
  if (found > 0)
    context_.console.err(counted(found, "job submitted earlier is still active",
                                 "jobs submitted earlier are still active"));
  if (fresh > 0) {
    context_.console.err(fmt::format("submitted {}; scripts and logs are in {}",
                                     counted(fresh, "job"),
                                     fs::path(submitted_.begin()->first).parent_path().string()));
  }
}

void SlurmExecutor::stop() {
  if (context_.signals.hung_up()) {
    context_.console.err(
        "the terminal was closed; the jobs continue, and the same command collects them");
    return;
  }
  for (const auto& [stem, files] : submitted_) {
    if (const auto ticket = launch::read_ticket(files)) queue_.cancel(*ticket);
    fs::remove(files.ticket());
  }
  if (!submitted_.empty())
    context_.console.err("cancelled " + counted(std::ssize(submitted_), "job"));
}

ExecutedRun SlurmExecutor::run(const PlannedRun& planned, const store::RunLabel& label,
                               const std::string& progress) {
  const launch::JobFiles files = files_of(planned, label.study);
  auto ticket = launch::read_ticket(files);
  if (!ticket) ticket = submit(planned, files);
  submitted_[files.stem] = files;
  const std::string prefix = fmt::format("{}job {}: ", progress, ticket->id);
  const std::unique_ptr<WatchedJob> job = jobs_->watch(planned, label, files, prefix);
  while (true) {
    const launch::JobState state = queue_.state(*ticket, files);
    if (state.phase == JobPhase::kEnded || state.phase == JobPhase::kLost) {
      context_.console.clear_status();
      ExecutedRun executed = job->collect(state);
      submitted_.erase(files.stem);
      fs::remove(files.ticket());
      return executed;
    }
    if (state.waits_forever()) {
      context_.console.clear_status();
      give_up(*ticket, state.reason);
    }
    if (!job->show()) {
      context_.console.set_status(prefix +
                                  (state.phase == JobPhase::kWaiting
                                       ? "waiting in the queue " + in_brackets(state.reason)
                                       : "starting"));
    }
    pollfd wanted{context_.signals.fd(), POLLIN, 0};
    ::poll(&wanted, 1, kLookMs);
    if (context_.signals.take_stop_requests() > 0) {
      context_.console.clear_status();
      return {RunEnd::kInterrupted, ""};
    }
  }
}

/// Cancels the jobs that Slurm would never start, and ends the study. Its other jobs continue, and
/// the next process of the study collects them.
void SlurmExecutor::give_up(const launch::JobTicket& ticket, const std::string& reason) {
  for (const auto& [stem, files] : submitted_) {
    const auto other = launch::read_ticket(files);
    if (!other || !queue_.state(*other, files).waits_forever()) continue;
    queue_.cancel(*other);
    fs::remove(files.ticket());
  }
  throw Error(
      ErrorKind::kUsage,
      fmt::format(
          "Slurm would never start job {} ({}): it exceeds the limits of its partition or account",
          ticket.id, reason),
      "ask for less --time, fewer --nodes or workers, or another --partition; sinfo -l prints "
      "the limits");
}

}  // namespace lockstep::study
