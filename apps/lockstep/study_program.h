#pragma once

#include <optional>
#include <string>
#include <vector>

#include "console.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/import/importer.h"
#include "lockstep/launch/signal_inbox.h"
#include "lockstep/study/command_template.h"
#include "study_executor.h"

namespace lockstep::cli {

class CommandOutput;

/// Somebody's training program and how to read what it writes.
struct ForeignCommand {
  std::vector<std::string> words;
  study::CommandValues values;
  std::string pattern;       ///< empty = the formats that lockstep import knows
  bool show_output = false;  ///< on stderr
  bool wall_time = false;    ///< the duration of the command is enough of a figure
  std::optional<Seconds> time_limit;
  std::uint64_t memory_bytes = 0;  ///< of all workers together; 0 = no limit
};

/// Runs of somebody's command. What each writes is kept in a file beside the store and read as
/// lockstep import reads it. How long the command took is kept too.
class StudyProgram final : public StudyExecutor {
 public:
  /// The references outlive this object. Throws kUsage for a pattern that makes no sense.
  StudyProgram(ForeignCommand command, std::string store_path, Console& console,
               launch::SignalInbox& signals, const Clock& clock);

  std::string title() const override;
  study::RunLength length() const override { return {command_.values.epochs, 0}; }
  bool resembles(const store::RunSummary& run) const override;
  /// Throws kData when the command ended well and nothing it wrote can be read, and kEnvironment
  /// when it cannot be started.
  ExecutedRun run(const study::PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  struct Attempt;
  import::ImportOptions import_options(const study::PlannedRun& planned) const;
  bool execute(Attempt& attempt, CommandOutput& output, const std::string& progress);
  ExecutedRun conclude(const Attempt& attempt, CommandOutput& output);
  void keep(const Attempt& attempt, const CommandOutput& output, const import::ImportedFile& file,
            import::ImportedRun run);
  ExecutedRun keep_failure(const Attempt& attempt, const CommandOutput& output, RunEnd end,
                           const std::string& problem);

  ForeignCommand command_;
  std::string store_path_;
  Console& console_;
  launch::SignalInbox& signals_;
  const Clock& clock_;
};

}  // namespace lockstep::cli
