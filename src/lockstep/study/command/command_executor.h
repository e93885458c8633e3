#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lockstep/launch/process/streamed_process.h"
#include "lockstep/study/command/command_record.h"
#include "lockstep/study/executor.h"

namespace lockstep::study {

/// One run of a command on this machine, as it went.
struct CommandOutcome {
  ExecutedRun executed;
  launch::ExitStatus status;
  bool timed_out = false;
  CommandEnd end;
  std::int64_t run = 0;  ///< its id in the store
  bool has_figures = false;
  std::string output;  ///< path of what it wrote
};

/// Lines as they arrive; `error` for those of standard error.
using LineSink = std::function<void(std::string_view line, bool error)>;

/// Runs a command on this machine once and keeps the run in the store: the one path of `lockstep
/// run` and of studies. The configuration of the run is that of `planned`, where 0 means
/// unknown; the output is kept in `output_path` and read as lockstep import reads it; a command
/// that prints no times is recorded with its duration. Blocks until the command has ended. Throws
/// kEnvironment when it cannot be started, and then keeps nothing.
CommandOutcome run_command(const ForeignCommand& command, const PlannedRun& planned,
                           const store::RunLabel& label, const std::string& output_path,
                           const ExecutorContext& context, const std::string& progress,
                           const LineSink& on_line);

/// Runs of a foreign command on this machine.
class CommandExecutor final : public Executor {
 public:
  /// Throws kUsage for an invalid pattern.
  CommandExecutor(ForeignCommand command, ExecutorContext context);

  std::string title() const override;
  RunLength length() const override { return {command_.values.epochs, command_.max_steps}; }
  bool resembles(const store::RunSummary& run) const override;
  /// Throws kEnvironment when the command cannot be started.
  ExecutedRun run(const PlannedRun& planned, const store::RunLabel& label,
                  const std::string& progress) override;

 private:
  ForeignCommand command_;
  ExecutorContext context_;
  bool noted_whole_runs_ = false;  ///< once is enough
};

/// The note that goes with runs whose output has no figures.
std::string whole_run_note(const std::string& command, const std::string& output_path);

}  // namespace lockstep::study
