#include "lockstep/launch/slurm_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "lockstep/base/error.h"
#include "lockstep/launch/captured_output.h"
#include "lockstep/launch/refusal.h"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kPatience{30};

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// At any moment the path holds nothing or all of it.
void write_text(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary);
    file << text;
    if (!file.flush()) {
      throw Error(ErrorKind::kData, fmt::format("cannot write {}", temporary),
                  "check the folder's rights and the free space of its disk");
    }
  }
  fs::rename(temporary, path);
}

CapturedOutput ask(const std::string& program, std::vector<std::string> arguments,
                   const Clock& clock) {
  ProcessSpec spec;
  spec.program = program;
  spec.arguments = std::move(arguments);
  spec.separate_errors = true;
  return run_captured(spec, kPatience, clock);
}

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

std::string directive(const std::string& name, const std::string& value) {
  return value.empty() ? "" : fmt::format("#SBATCH --{}={}\n", name, value);
}

/// "JobState=TIMEOUT" of scontrol's one line.
std::string field_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name + "=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 1;
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

bool is_over(const std::string& word) {
  static const std::set<std::string> kGoingOn{"PENDING",   "CONFIGURING", "RUNNING", "COMPLETING",
                                              "SUSPENDED", "REQUEUED",    "STOPPED", "STAGE_OUT"};
  return !word.empty() && !kGoingOn.contains(word);
}

}  // namespace

std::string batch_script(const WorkerJob& job, const ClusterOptions& options, const JobFiles& files,
                         const std::string& about) {
  const auto filled = [&](const std::string& text) { return fill_workers(text, job.workers); };
  std::string text = "#!/bin/bash\n# " + about + "\n";
  text += directive("job-name", job.name);
  text += directive("ntasks", std::to_string(job.workers));
  if (options.nodes > 0) {
    text += directive("nodes", std::to_string(std::min(options.nodes, job.workers)));
  }
  text += directive("partition", filled(options.partition));
  text += directive("account", filled(options.account));
  text += directive("time", filled(options.time));
  text += directive("gres", filled(options.gres));
  if (job.oversubscribe) text += "#SBATCH --overcommit\n";
  text += directive("output", files.log());
  text += "#SBATCH --no-requeue\n\n";
  text += fmt::format("run={}  # the names of its files begin so\n", shell_quoted(files.stem));
  text += "date +%s%N > \"$run.started\"\n\n";
  text += fmt::format("srun --kill-on-bad-exit=1{}{} {}", job.oversubscribe ? " --overcommit" : "",
                      job.uses_mpi ? " --mpi=pmix" : "", shell_quoted(job.program));
  for (const std::string& argument : job.arguments) {
    text += (argument.starts_with("-") ? " \\\n  " : " ") + shell_quoted(argument);
  }
  text += "\n\ncode=$?\necho $code > \"$run.ended.tmp\" && mv \"$run.ended.tmp\" \"$run.ended\"\n";
  text += "exit $code\n";
  return text;
}

bool JobState::waits_for_ever() const {
  static const std::set<std::string> kLimits{
      "AccountNotAllowed", "BadConstraints",     "InvalidAccount",     "InvalidQOS",
      "PartitionConfig",   "PartitionNodeLimit", "PartitionTimeLimit", "QOSNotAllowed"};
  return phase == Phase::kWaiting && kLimits.contains(reason);
}

std::optional<JobTicket> read_ticket(const JobFiles& files) {
  std::ifstream file(files.ticket());
  JobTicket ticket;
  if (!(file >> ticket.id >> ticket.submitted_wall_ns)) return std::nullopt;
  return ticket;
}

JobTicket SlurmQueue::submit(const std::string& script, const JobFiles& files) {
  fs::create_directories(fs::path(files.stem).parent_path());
  for (const std::string& old : {files.ticket(), files.started(), files.ended(), files.record()}) {
    fs::remove(old);
  }
  write_text(files.script(), script);
  JobTicket ticket;
  ticket.submitted_wall_ns = clock_.wall();
  const CapturedOutput answer = ask("sbatch", {"--parsable", files.script()}, clock_);
  // "1234" or, with several clusters, "1234;cluster".
  ticket.id = trimmed(answer.output.substr(0, answer.output.find(';')));
  const bool number =
      !ticket.id.empty() && ticket.id.find_first_not_of("0123456789") == std::string::npos;
  if (!answer.status.clean() || !number) {
    std::istringstream lines(answer.errors);
    for (std::string line; std::getline(lines, line);) {
      if (const auto refusal = refusal_in(line, "sbatch does not take the job")) throw *refusal;
    }
    throw Error(ErrorKind::kEnvironment,
                fmt::format("sbatch did not take {}: {}", files.script(), trimmed(answer.errors)),
                "check --partition, --account, --time and --gres");
  }
  write_text(files.ticket(), fmt::format("{} {}\n", ticket.id, ticket.submitted_wall_ns));
  return ticket;
}

JobState SlurmQueue::state(const JobTicket& ticket, const JobFiles& files) const {
  JobState state;
  std::istringstream started(read_text(files.started()));
  if (std::int64_t at = 0; started >> at) {
    state.phase = JobState::Phase::kRunning;
    state.queue_wait_s = std::max(0.0, static_cast<double>(at - ticket.submitted_wall_ns) * 1e-9);
  }
  const auto noted_end = [&] {
    std::istringstream ended(read_text(files.ended()));
    if (!(ended >> state.exit_code)) return false;
    state.phase = JobState::Phase::kEnded;
    return true;
  };
  if (noted_end()) return state;
  const CapturedOutput queue = ask("squeue", {"-h", "-j", ticket.id, "-o", "%T %r"}, clock_);
  std::istringstream words(queue.output);
  words >> state.word >> state.reason;
  if (queue.status.clean() && !state.word.empty() && !is_over(state.word)) return state;
  const CapturedOutput facts = ask("scontrol", {"--oneliner", "show", "job", ticket.id}, clock_);
  // Nothing from either may also mean that the controller is away: then the job is not lost yet.
  const bool unknown = facts.errors.find("Invalid job id") != std::string::npos;
  if (facts.status.clean()) state.word = field_of(facts.output, "JobState");
  if (!is_over(state.word) && !unknown) return state;
  if (noted_end()) return state;  // between the first look and the last
  state.phase = JobState::Phase::kLost;
  if (state.word.empty()) state.word = "no longer known to Slurm";
  return state;
}

void SlurmQueue::cancel(const JobTicket& ticket) const noexcept {
  try {
    ask("scancel", {ticket.id}, clock_);
  } catch (const std::exception&) {
    // Slurm is away; its time limit ends the job.
  }
}

std::string file_name_of(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '=';
    name += plain ? c : '_';
  }
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

}  // namespace lockstep::launch
