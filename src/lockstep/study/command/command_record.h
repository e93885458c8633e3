#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/import/importer.h"
#include "lockstep/measure/energy.h"
#include "lockstep/study/command/command_output.h"
#include "lockstep/study/command/command_template.h"
#include "lockstep/study/executor.h"
#include "lockstep/watch/live_steps.h"
#include "lockstep/watch/merge_ranks.h"

namespace lockstep::study {

/// A foreign training program, and how its runs are named and read.
struct ForeignCommand {
  std::vector<std::string> words;
  CommandValues values;
  std::string network;       ///< what its runs are called where the output names no model
  std::string pattern;       ///< empty = the formats that lockstep import recognises
  bool show_output = false;  ///< on stderr
  bool wall_time = false;    ///< record the duration of the command beside the figures it prints
  bool watch = true;         ///< measure PyTorch processes from inside
  std::optional<Seconds> time_limit;
  std::int64_t max_steps = 0;      ///< end a watched run after that many steps; 0 = its own end
  std::uint64_t memory_bytes = 0;  ///< of all workers together; 0 = no limit

  /// The command as it was given, placeholders included, as one line.
  std::string text() const;
  /// How to read the output of a run: facts of the plan are set, file names are not read.
  auto import_options(const PlannedRun& planned) const -> import::ImportOptions;
};

/// How a run of a command ended.
struct CommandEnd {
  double seconds = 0;  ///< from its start to its end
  bool clean = false;  ///< exit code 0
  bool interrupted = false;
  bool enough_steps = false;           ///< it was ended because it had ForeignCommand::max_steps
  std::string problem;                 ///< one sentence when it is not clean
  std::int64_t peak_memory_bytes = 0;  ///< largest resident set of any process; 0 = unknown
  std::string records{};  ///< folder with what watched ranks wrote; empty = not watched
  measure::EnergySampler* energy = nullptr;  ///< of this host, where all of the run was on it
  double others_cpu = record::kUnknown;      ///< likewise; see record::RunEnded
};

/// One run of a command in the store: visible from its start, with epochs as they are recognised in
/// the output, and complete after finish(). Not thread-safe.
class CommandRecord {
 public:
  /// `command` and `output` outlive this object. Throws kData when the store cannot be written to.
  CommandRecord(const ForeignCommand& command, const PlannedRun& planned, store::RunLabel label,
                CommandOutput& output, const ExecutorContext& context);

  /// Writes the start of the run. `launcher` and `queue_wait_s` as in record::RunSpec.
  void begin(std::int64_t started_wall_ns, record::Launcher launcher = record::Launcher::kLocal,
             double queue_wait_s = -1);

  /// Writes epochs that the output has completed since the last call. Cheap: the output is read
  /// again at most for a twentieth of the time.
  void follow();
  /// Writes how far a watched run is and the figures it has logged, at most twice per second.
  /// Returns that in words; empty while it is not known.
  const std::string& follow_steps(watch::LiveSteps& steps);

  /// Writes all that the output has, and the end of the run.
  ExecutedRun finish(const CommandEnd& end);

  std::int64_t run_id() const { return sink_.run_id(); }
  /// Whether the output had any figure or the steps were watched; after finish().
  bool has_figures() const { return has_figures_; }

 private:
  record::RunEnded ended(const CommandEnd& end, record::RunStatus status) const;
  ExecutedRun fail(const CommandEnd& end, RunEnd kind, const std::string& problem);
  auto read_output() const -> import::ImportedFile;
  auto read_watched(const CommandEnd& end, const import::ImportedRun& read) -> watch::WatchedRun;
  void complete(const CommandEnd& end, const import::ImportedFile& file);
  void complete_watched(const CommandEnd& end, const watch::WatchedRun& watched,
                        const import::ImportedRun& read);
  void add_energy(const CommandEnd& end, watch::WatchedRun& watched);

  const ForeignCommand& command_;
  PlannedRun planned_;
  CommandOutput& output_;
  const ExecutorContext& context_;
  store::StoreSink sink_;
  record::RunStarted started_;
  int epochs_written_ = 0;
  bool logs_epochs_ = false;  ///< the program logs its figures; those of its output are not needed
  Nanoseconds look_at_steps_at_ = 0;
  std::string steps_text_;
  bool has_figures_ = false;
  std::optional<watch::RunEnergy> ranks_energy_;  ///< where the meter of this host is not enough
};

}  // namespace lockstep::study
