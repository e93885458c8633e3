#include "lockstep/launch/cluster/slurm_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "lockstep/base/error.h"
#include "lockstep/launch/process/captured_output.h"
#include "lockstep/launch/refusal.h"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kAnswerWait{30};

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The file appears whole or not at all.
void write_text(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary);
    file << text;
    if (!file.flush()) {
      throw Error(ErrorKind::kData, fmt::format("cannot write {}", temporary),
                  "check the folder's permissions and the free disk space");
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
  return run_captured(spec, kAnswerWait, clock);
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

constexpr const char* kMasterAddress = "${MASTER_ADDR}";
constexpr const char* kMasterPort = "${MASTER_PORT}";

/// Shell lines around the user's setup, which may change what was set `before` it.
struct Exports {
  std::string before;
  std::string after;
};

/// What a script begins with after its own directives, up to the command: more directives, the note
/// of its start, and the user's setup, which does not count as time of the command.
std::string common_part(const ClusterOptions& options, const JobShape& shape, const JobFiles& files,
                        const Exports& exports = {}) {
  const auto filled = [&](const std::string& text) { return fill_shape(text, shape); };
  std::string text;
  text += directive("partition", filled(options.partition));
  text += directive("account", filled(options.account));
  text += directive("time", filled(options.time));
  text += directive("gres", filled(options.gres));
  text += directive("output", files.log());
  text += "#SBATCH --no-requeue\n\n";
  text += fmt::format("run={}  # prefix of the names of its files\n", shell_quoted(files.stem));
  text += "date +%s%N > \"$run.started\"\n\n" + exports.before;
  if (!options.setup.empty()) {
    text += fmt::format(". {}\necho $? > \"$run.setup\"\n",
                        shell_quoted(fs::absolute(options.setup).string()));
  }
  return text + exports.after + "began=$(date +%s%N)\n";
}

/// Its end: the exit code of the command, when it began and when it ended.
constexpr const char* kNoteEnd =
    "\n\ncode=$?\n"
    "echo \"$code $began $(date +%s%N)\" > \"$run.ended.tmp\" && mv \"$run.ended.tmp\" "
    "\"$run.ended\"\n"
    "exit $code\n";

/// Where rank 0 can listen. The name of a node need not be one that a resolver knows.
constexpr const char* kExportMaster =
    "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
    "getent hosts \"$MASTER_ADDR\" > /dev/null ||\n"
    "  MASTER_ADDR=$(scontrol show node \"$MASTER_ADDR\" | sed -n 's/.*NodeAddr=\\([^ "
    "]*\\).*/\\1/p')\n"
    "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))\n";

/// Since Slurm 22.05 srun does not take this from the job by itself.
constexpr const char* kExportCores = "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n";

/// One word for a shell, in which the two variables are replaced and nothing else is.
std::string script_word(const std::string& word) {
  for (const char* variable : {kMasterAddress, kMasterPort}) {
    const std::size_t at = word.find(variable);
    if (at == std::string::npos) continue;
    const std::string before = word.substr(0, at);
    const std::string after = word.substr(at + std::string_view(variable).size());
    return (before.empty() ? "" : script_word(before)) + "\"" + variable + "\"" +
           (after.empty() ? "" : script_word(after));
  }
  return shell_quoted(word);
}

/// A command; if it is long, with its options on separate lines.
std::string script_words(const std::vector<std::string>& words) {
  std::string text;
  std::size_t width = 0;
  for (const std::string& word : words) {
    const std::string quoted = script_word(word);
    const bool break_here = width > 80 && word.starts_with("-");
    if (!text.empty()) text += break_here ? " \\\n  " : " ";
    width = break_here ? quoted.size() : width + quoted.size() + 1;
    text += quoted;
  }
  return text;
}

bool is_over(const std::string& word) {
  static const std::set<std::string> kGoingOn{"PENDING",   "CONFIGURING", "RUNNING", "COMPLETING",
                                              "SUSPENDED", "REQUEUED",    "STOPPED", "STAGE_OUT"};
  return !word.empty() && !kGoingOn.contains(word);
}

}  // namespace

std::string batch_script(const WorkerJob& job, const ClusterOptions& options, const JobFiles& files,
                         const std::string& about) {
  const JobShape shape = training_shape(job.workers, options);
  std::string text = "#!/bin/bash\n# " + about + "\n";
  text += directive("job-name", job.name);
  text += directive("ntasks", std::to_string(job.workers));
  const bool spread = options.nodes > 0 || options.workers_per_node > 0;
  if (spread) text += directive("nodes", std::to_string(shape.nodes));
  if (job.threads > 1) text += directive("cpus-per-task", std::to_string(job.threads));
  if (job.oversubscribe) text += "#SBATCH --overcommit\n";
  text += common_part(options, shape, files);
  // A step does not inherit the cores per task of its job.
  text += fmt::format("srun --kill-on-bad-exit=1{}{}{} {}",
                      job.threads > 1 ? fmt::format(" --cpus-per-task={}", job.threads) : "",
                      job.oversubscribe ? " --overcommit" : "", job.uses_mpi ? " --mpi=pmix" : "",
                      shell_quoted(job.program));
  for (const std::string& argument : job.arguments) {
    text += (argument.starts_with("-") ? " \\\n  " : " ") + shell_quoted(argument);
  }
  return text + kNoteEnd;
}

std::string command_script(const CommandJob& job, const ClusterOptions& options,
                           const JobFiles& files) {
  const JobShape& shape = job.shape;
  std::string text = "#!/bin/bash\n# " + job.about + "\n";
  text += directive("job-name", job.name);
  text += directive("nodes", std::to_string(shape.nodes));
  text +=
      directive("ntasks-per-node", std::to_string(job.task_per_node ? 1 : shape.workers_per_node));
  const int cores = (job.task_per_node ? shape.workers_per_node : 1) * job.threads;
  if (job.task_per_node || cores > 1) text += directive("cpus-per-task", std::to_string(cores));
  Exports exports{kExportMaster, job.task_per_node ? kExportCores : ""};
  for (const std::string& assignment : job.environment) {
    const std::size_t sign = assignment.find('=');
    exports.after += fmt::format("export {}={}\n", assignment.substr(0, sign),
                                 shell_quoted(assignment.substr(sign + 1)));
  }
  if (!job.python_path.empty()) {
    exports.after += fmt::format("export PYTHONPATH={}${{PYTHONPATH:+:$PYTHONPATH}}\n",
                                 shell_quoted(job.python_path));
  }
  if (job.data_limit > 0) exports.after += fmt::format("ulimit -d {}\n", job.data_limit / 1024);
  text += common_part(options, shape, files, exports);
  text += script_words(job.words);
  return text + kNoteEnd;
}

bool JobState::waits_forever() const {
  static const std::set<std::string> kLimits{
      "AccountNotAllowed", "BadConstraints",     "InvalidAccount",     "InvalidQOS",
      "PartitionConfig",   "PartitionNodeLimit", "PartitionTimeLimit", "QOSNotAllowed"};
  return phase == Phase::kWaiting && kLimits.contains(reason);
}

JobEnd end_of_job(const JobState& state, const std::string& log, const std::string& setup) {
  const auto printed = [&](const char* text) { return log.find(text) != std::string::npos; };
  // Slurm may leave the script the time to note the end of a command that Slurm ended.
  if (state.word == "TIMEOUT" || printed("DUE TO TIME LIMIT ***")) {
    return {"Slurm ended the job at its time limit (--time)", false};
  }
  if (state.word == "NODE_FAIL" || printed("DUE TO NODE FAILURE")) {
    return {"a node of the job failed", false};
  }
  if (state.word == "PREEMPTED" || printed("DUE TO PREEMPTION")) {
    return {"Slurm ended the job for one of higher priority", false};
  }
  if (state.word == "CANCELLED" || (printed("*** JOB ") && printed(" CANCELLED AT "))) {
    return {"the job was cancelled (scancel)", false};
  }
  const bool began = state.phase == JobState::Phase::kEnded;
  if (!began && state.word == "FAILED" && !setup.empty() && !state.setup_code) {
    return {fmt::format("--setup {} ended the job before its command began", setup)};
  }
  if (!began) return {fmt::format("the job ended as {}", state.word)};
  JobEnd end{fmt::format("the command ended with exit code {}", state.exit_code)};
  if (state.setup_code.value_or(0) != 0) {
    end.text +=
        fmt::format(", after --setup {} had ended with exit code {}", setup, *state.setup_code);
  }
  return end;
}

std::string end_of_log(const JobFiles& files) {
  constexpr std::streamoff kEnd = 16'384;
  std::ifstream file(files.log(), std::ios::ate);
  if (!file) return "";
  file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - kEnd));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<JobTicket> read_ticket(const JobFiles& files) {
  std::ifstream file(files.ticket());
  JobTicket ticket;
  if (!(file >> ticket.id >> ticket.submitted_wall_ns)) return std::nullopt;
  return ticket;
}

JobTicket SlurmQueue::submit(const std::string& script, const JobFiles& files) {
  fs::create_directories(fs::path(files.stem).parent_path());
  for (const std::string& old :
       {files.ticket(), files.started(), files.setup(), files.ended(), files.record()}) {
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
      if (const auto refusal = refusal_in(line, "sbatch rejects the job")) throw *refusal;
    }
    throw Error(ErrorKind::kEnvironment,
                fmt::format("sbatch rejected {}: {}", files.script(), trimmed(answer.errors)),
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
  std::istringstream setup(read_text(files.setup()));
  if (int code = 0; setup >> code) state.setup_code = code;
  const auto noted_end = [&] {
    std::istringstream ended(read_text(files.ended()));
    if (!(ended >> state.exit_code)) return false;
    ended >> state.started_wall_ns >> state.ended_wall_ns;
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
