#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/record/measurement.h"
#include "lockstep/store/run_curve.h"
#include "lockstep/store/run_writer.h"

namespace lockstep::store {

/// The state of a run. kKilled: its end was not recorded, and its writer has exited.
enum class RunState { kRunning, kDone, kInterrupted, kFailed, kKilled };

/// "running", "done", ...; `state_from_name` throws kUsage for other text.
std::string_view state_name(RunState state);
RunState state_from_name(std::string_view name);

/// One run in a list. Sums and last values are of the epochs that were finished.
struct RunSummary {
  std::int64_t id = 0;
  RunLabel label;
  RunState state = RunState::kRunning;
  record::RunSpec spec;
  std::int64_t started_wall_ns = 0;
  int epochs_done = 0;
  std::int64_t examples = 0;                    ///< trained on by all workers, all epochs
  double train_s = 0;                           ///< over all epochs
  double imported_rate = record::kUnknown;      ///< examples per second in a foreign log
  double last_val_accuracy = record::kUnknown;  ///< of the last epoch
  double total_s = record::kUnknown;            ///< unknown until the run ends
  std::optional<record::Progress> progress;     ///< the last that was reported
  std::string error_kind;                       ///< of its first error, as base names it; or empty
  bool imported = false;                        ///< another tool made it; see imports.h
};

/// Examples per second of all workers over the finished epochs; unknown before the first.
double mean_rate(const RunSummary& run);

/// Whether the run ended because a worker ran out of memory: a result, not an accident.
bool ran_out_of_memory(const RunSummary& run);

/// All of a run but its steps, which visit_steps() gives one by one.
struct StoredRun {
  RunSummary summary;
  record::RunStarted started;
  std::vector<record::EpochResult> epochs;
  std::vector<record::Utilisation> utilisation;  ///< by rank, then time
  std::vector<record::CheckpointWritten> checkpoints;
  std::vector<record::WorkerError> errors;
  std::optional<record::RunEnded> ended;
  std::int64_t steps = 0;  ///< rows of all ranks; 0 if they were not to be counted
};

/// Every field that is set must match.
struct RunFilter {
  std::optional<std::string> recipe{};
  std::optional<RunState> state{};
  std::optional<std::int64_t> workers{};
  std::optional<std::int64_t> batch_per_worker{};
  std::optional<std::string> study{};

  bool any() const { return recipe || state || workers || batch_per_worker || study; }
};

/// The runs of one store file. Readers never block writers. Not thread-safe.
class Store {
 public:
  /// Opens a store that exists. Throws kData when there is none, when it is damaged, newer than
  /// this program, or a file of something else.
  explicit Store(const std::string& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::string& path() const;

  /// Oldest first.
  std::vector<RunSummary> runs(const RunFilter& filter = {});

  /// Counting the steps of a long run reads all of them.
  enum class Steps { kCounted, kNotCounted };
  /// Throws kData for an unknown id, with the nearest ids as the hint.
  StoredRun load(std::int64_t id, Steps steps = Steps::kCounted);

  /// What keep_step_digest() kept of the run, where it is in this form.
  std::optional<std::string> step_digest(std::int64_t id, std::string_view form);

  /// How the run went within its epochs; empty if it reported no progress.
  std::vector<CurvePoint> curve(std::int64_t id);

  /// Throws as load() for the first id that is unknown; also finds runs that are damaged.
  void require(std::span<const std::int64_t> ids);

  /// The rows of imported runs, as they were added, with `run` set to their id; those of `ids`, or
  /// of all when it is empty. Runs of our own have none here.
  std::vector<record::Measurement> imported_measurements(std::span<const std::int64_t> ids = {});

  /// By step, then rank. The visitor must not use this store.
  void visit_steps(std::int64_t id, const std::function<void(const record::StepTimes&)>& visit);

  /// Deletes the runs and all that belongs to them, all or none. Throws kData for an unknown id and
  /// kUsage for a run that is still being written.
  void remove(std::span<const std::int64_t> ids);

  /// Gives the room of deleted runs back to the disk. Needs as much free space as the store has.
  void compact();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::store
