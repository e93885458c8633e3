#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/launch/cluster/job_command.h"

namespace lockstep::launch {

/// The files of one batch job, all in one folder that the cluster shares and all beginning with one
/// stem. A later process learns from them all that it needs to collect the job.
struct JobFiles {
  std::string stem;
  std::string script() const { return stem + ".sbatch"; }
  std::string log() const { return stem + ".log"; }          ///< what the job printed
  std::string record() const { return stem + ".record"; }    ///< of rank 0
  std::string ticket() const { return stem + ".job"; }       ///< job id and time of submission
  std::string started() const { return stem + ".started"; }  ///< time of its start
  std::string setup() const { return stem + ".setup"; }      ///< exit code of the user's setup
  std::string ended() const {
    return stem + ".ended";
  }  ///< exit code, start and end of its command
};

/// The script of a batch job that runs the workers and notes its start and its end. `about` goes
/// into a comment.
std::string batch_script(const WorkerJob& job, const ClusterOptions& options, const JobFiles& files,
                         const std::string& about);

/// A foreign command as a batch job.
struct CommandJob {
  std::string name;   ///< of the job
  std::string about;  ///< for a comment, one line
  JobShape shape;
  int threads = 1;                       ///< per worker
  bool task_per_node = false;            ///< the command itself starts the workers of each host
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string python_path{};             ///< put in front of PYTHONPATH, after the setup
  std::uint64_t data_limit = 0;  ///< most that each process may allocate, bytes; 0 = no limit
  /// ${MASTER_ADDR} and ${MASTER_PORT} in it are set by the script, before the setup.
  std::vector<std::string> words;
};

/// The script of a batch job that runs the command once, and notes its start and its end.
std::string command_script(const CommandJob& job, const ClusterOptions& options,
                           const JobFiles& files);

/// A job that was submitted.
struct JobTicket {
  std::string id;
  std::int64_t submitted_wall_ns = 0;
};

/// Reads the ticket of a job that this or an earlier process submitted; nothing without one.
std::optional<JobTicket> read_ticket(const JobFiles& files);

/// The state of a job.
struct JobState {
  enum class Phase { kWaiting, kRunning, kEnded, kLost };
  Phase phase = Phase::kWaiting;
  std::string word;    ///< Slurm's: PENDING, RUNNING, TIMEOUT, ...
  std::string reason;  ///< of waiting, Slurm's: Priority, Resources, PartitionTimeLimit, ...
  int exit_code = 0;
  std::optional<double> queue_wait_s;  ///< once it has started
  std::optional<int> setup_code;       ///< exit code of the user's setup, once it has ended
  std::int64_t started_wall_ns = 0;    ///< of its command, set-up left out; 0 = unknown
  std::int64_t ended_wall_ns = 0;      ///< likewise

  /// Whether it waits for what does not come by waiting: a limit that it exceeds.
  bool waits_forever() const;
};

/// What ended a job.
struct JobEnd {
  std::string text;  ///< a part of a sentence
  bool output_explains =
      true;  ///< not where Slurm ended it: ranks then print that they were killed
};

/// Of a job that ended other than well: its time limit, scancel, the user's `setup`, or its
/// command. `log`: the last lines of the job.
JobEnd end_of_job(const JobState& state, const std::string& log, const std::string& setup);

/// The last lines that a job printed.
std::string end_of_log(const JobFiles& files);

/// Talks to Slurm through its commands, each given half a minute.
class SlurmQueue {
 public:
  explicit SlurmQueue(const Clock& clock) : clock_(clock) {}

  /// Writes the script, submits it and keeps the ticket. What an earlier job of the same files left
  /// is removed. Throws kUsage or kEnvironment with sbatch's words when it refuses.
  JobTicket submit(const std::string& script, const JobFiles& files);

  /// From the job's own files and, before these note its end, from squeue and scontrol. kLost:
  /// unknown to Slurm or ended by it, without having noted its end.
  JobState state(const JobTicket& ticket, const JobFiles& files) const;

  /// Never throws; a job that has ended is left alone.
  void cancel(const JobTicket& ticket) const noexcept;

 private:
  const Clock& clock_;
};

/// A name that is safe in file names and job names.
std::string file_name_of(const std::string& text);

}  // namespace lockstep::launch
