#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "lockstep/record/machine.h"
#include "lockstep/record/run_spec.h"
#include "lockstep/record/step_times.h"
#include "lockstep/record/utilisation.h"

namespace lockstep::record {

/// Version of the JSON lines; readers refuse a newer one.
inline constexpr int kFormatVersion = 1;

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What a run reports while it is in progress: one JSON object per line, in this order: one
/// RunStarted, then Progress, StepBlock, UtilisationBlock, EpochResult, CheckpointWritten and
/// BucketChosen as they come, one RunEnded. A stream without RunEnded belongs to a run that was
/// killed.
struct RunStarted {
  RunSpec spec;
  Machine machine;
  Build build;
  std::int64_t started_wall_ns = 0;
  std::int64_t steps_per_epoch = 0;
  int first_epoch = 1;  ///< above 1 when resumed
};

/// At most a few times per second, for live displays.
struct Progress {
  int epoch = 0;          ///< from 1; 0 = unknown
  std::int64_t step = 0;  ///< within the epoch, from 1
  std::int64_t steps_per_epoch = 0;
  double examples_per_s = 0;  ///< of all workers, over the last interval
  double loss = kUnknown;     ///< mean over the last interval in which the ranks agreed on it
};

struct EpochResult {
  int epoch = 0;  ///< from 1
  double train_loss = kUnknown;
  double train_accuracy = kUnknown;
  double val_loss = kUnknown;
  double val_accuracy = kUnknown;
  double learning_rate = kUnknown;  ///< at the end of the epoch
  std::int64_t examples = 0;        ///< trained on by all workers
  double train_s = 0;               ///< first to last training step
  double val_s = 0;
  double examples_per_s = 0;  ///< examples / train_s
  /// Gradient noise scale at the epoch's end, in examples, and the interval that covers it with 95
  /// % probability; unknown with one worker.
  double noise_scale = kUnknown;
  double noise_scale_low = kUnknown;
  double noise_scale_high = kUnknown;
  std::map<std::string, double> metrics{};  ///< what only this recipe measures, for example loss_G
};

struct CheckpointWritten {
  std::string path;
  int epoch = 0;
  std::int64_t step = 0;  ///< of the run
};

/// --bucket auto has compared its sizes and keeps this one.
struct BucketChosen {
  std::uint64_t bytes = 0;
};

enum class RunStatus { kRunning, kDone, kInterrupted, kFailed };

std::string_view status_name(RunStatus status);
RunStatus status_from_name(std::string_view name);

struct RunEnded {
  RunStatus status = RunStatus::kDone;
  std::int64_t ended_wall_ns = 0;
  double total_s = 0;  ///< from the worker's start of training to its end, validation included
  std::int64_t peak_memory_bytes = 0;  ///< largest resident set of any worker
  std::string parameters_digest;       ///< the same on all ranks when the run is sound
  double energy_j = kUnknown;          ///< of all hosts, over total_s
  std::string energy_source{};         ///< what was read; where energy is unknown, why
  double others_cpu = kUnknown;  ///< part of this host's CPU time that other programs used, 0 to 1
};

/// From this part on, other programs visibly lengthen the times of a run.
inline constexpr double kDisturbingShare = 0.15;

/// "45 % of the CPU time" if other programs disturbed the run, otherwise empty.
std::string disturbance(const RunEnded& ended);

/// The error that ended a worker; every rank may send one.
struct WorkerError {
  int rank = -1;
  std::string kind;
  std::string message;
  std::string hint;
};

using Event = std::variant<RunStarted, Progress, StepBlock, EpochResult, CheckpointWritten,
                           RunEnded, WorkerError, UtilisationBlock, BucketChosen>;

/// One line without the line break.
std::string to_line(const Event& event);

/// Throws kData for text that is not an event or comes from a newer version. Unknown event types
/// give nothing, so that later minor additions do not break an older reader.
std::optional<Event> from_line(const std::string& line);

}  // namespace lockstep::record
