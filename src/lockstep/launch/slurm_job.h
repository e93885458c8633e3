#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/launch/job_command.h"

namespace lockstep::launch {

/// The files of one batch job, all in one folder that the cluster shares and all beginning with one
/// stem. Together they tell all that a later process has to know of the job.
struct JobFiles {
  std::string stem;
  std::string script() const { return stem + ".sbatch"; }
  std::string log() const { return stem + ".log"; }          ///< what the job printed
  std::string record() const { return stem + ".record"; }    ///< of rank 0
  std::string ticket() const { return stem + ".job"; }       ///< job id and time of submission
  std::string started() const { return stem + ".started"; }  ///< time of its start
  std::string ended() const { return stem + ".ended"; }      ///< exit code of its workers
};

/// The script of a batch job that runs the workers and notes its start and its end. `about` goes
/// into a comment.
std::string batch_script(const WorkerJob& job, const ClusterOptions& options, const JobFiles& files,
                         const std::string& about);

/// A job that was submitted.
struct JobTicket {
  std::string id;
  std::int64_t submitted_wall_ns = 0;
};

/// Reads the ticket of a job that this or an earlier process submitted; nothing without one.
std::optional<JobTicket> read_ticket(const JobFiles& files);

/// How a job stands.
struct JobState {
  enum class Phase { kWaiting, kRunning, kEnded, kLost };
  Phase phase = Phase::kWaiting;
  std::string word;    ///< Slurm's: PENDING, RUNNING, TIMEOUT, ...
  std::string reason;  ///< of waiting, Slurm's: Priority, Resources, PartitionTimeLimit, ...
  int exit_code = 0;
  std::optional<double> queue_wait_s;  ///< once it has started

  /// Whether it waits for what does not come by waiting: a limit that it exceeds.
  bool waits_for_ever() const;
};

/// Talks to Slurm through its commands, each given half a minute.
class SlurmQueue {
 public:
  explicit SlurmQueue(const Clock& clock) : clock_(clock) {}

  /// Writes the script, submits it and keeps the ticket. What an earlier job of the same files left
  /// is removed. Throws kUsage or kEnvironment with sbatch's words when it refuses.
  JobTicket submit(const std::string& script, const JobFiles& files);

  /// From the job's own files and, while these do not tell of its end, squeue and scontrol. kLost:
  /// Slurm does not know it, or says that it was ended, and it has not noted an end.
  JobState state(const JobTicket& ticket, const JobFiles& files) const;

  /// Never throws; a job that has ended is left alone.
  void cancel(const JobTicket& ticket) const noexcept;

 private:
  const Clock& clock_;
};

/// A name that is safe in file names and job names.
std::string file_name_of(const std::string& text);

}  // namespace lockstep::launch
