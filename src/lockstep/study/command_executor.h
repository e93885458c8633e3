#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/import/importer.h"
#include "lockstep/study/command_template.h"
#include "lockstep/study/executor.h"

namespace lockstep::study {

class CommandOutput;

/// Somebody's training program and how to read what it writes.
struct ForeignCommand {
  std::vector<std::string> words;
  CommandValues values;
  std::string network;       ///< what its runs are called where the output names no model
  std::string pattern;       ///< empty = the formats that lockstep import recognises
  bool show_output = false;  ///< on stderr
  bool wall_time = false;    ///< record the duration of the command beside the figures it prints
  std::optional<Seconds> time_limit;
  std::uint64_t memory_bytes = 0;  ///< of all workers together; 0 = no limit
};

/// Runs of somebody's command. The configuration of a run is that of the plan; the output is kept
/// in a file beside the store, and the figures in it are read as lockstep import reads them. A
/// command that prints no times is recorded with its duration.
class CommandExecutor final : public Executor {
 public:
  /// Throws kUsage for an invalid pattern.
  CommandExecutor(ForeignCommand command, ExecutorContext context);

  std::string title() const override;
  RunLength length() const override { return {command_.values.epochs, 0}; }
  bool resembles(const store::RunSummary& run) const override;
  /// Throws kEnvironment when the command cannot be started.
  ExecutedRun run(const PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  struct Attempt;
  auto import_options(const PlannedRun& planned) const -> import::ImportOptions;
  auto read_output(const Attempt& attempt, CommandOutput& output) const -> import::ImportedFile;
  bool execute(Attempt& attempt, CommandOutput& output, const std::string& progress);
  ExecutedRun conclude(const Attempt& attempt, CommandOutput& output);
  void keep(const Attempt& attempt, const CommandOutput& output, const import::ImportedFile& file,
            import::ImportedRun run);
  ExecutedRun keep_failure(const Attempt& attempt, const CommandOutput& output, RunEnd end,
                           const std::string& problem);

  ForeignCommand command_;
  ExecutorContext context_;
  bool said_whole_run_ = false;  ///< once is enough
};

}  // namespace lockstep::study
