#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/launch/process/child_process.h"
#include "lockstep/record/event.h"

namespace lockstep::launch {

/// The state of one worker, while it runs and after it ended.
struct WorkerOutcome {
  int rank = 0;
  std::string title{};               ///< its name in messages; empty = by its rank
  std::string host{};                ///< where it runs, where the launcher decided that
  std::optional<ExitStatus> status;  ///< absent while it runs
  Nanoseconds ended_at = 0;
  std::optional<record::WorkerError> error;  ///< the first it sent
  Nanoseconds error_at = 0;
  bool closed_record = false;    ///< it sent RunEnded
  bool told_to_end = false;      ///< the launcher ended it: what it did since then is not a cause
  std::optional<Error> refusal;  ///< of a launcher that started nothing
  std::vector<std::string> last_lines;  ///< of its output, oldest first
};

/// Why a group of workers failed.
struct Failure {
  int rank = 0;
  /// Only effects of the failure of another worker are known so far (an error of kind "peer"): the
  /// cause may still come.
  bool symptom = false;
  Error error;
};

/// The failure that came first, preferring causes to symptoms; nothing without a failure. A cause
/// is a launcher's refusal, an error a worker sent, a death by signal, an exit code other than 0,
/// or an end of rank 0 without RunEnded. With `stopping` (the user requested the end) deaths by
/// that request are not failures.
std::optional<Failure> first_cause(std::span<const WorkerOutcome> workers, bool stopping);

/// "worker 1 (rank 1 of 2)".
std::string worker_title(int rank, std::size_t world_size);

}  // namespace lockstep::launch
