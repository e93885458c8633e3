#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/process/child_process.h"
#include "lockstep/launch/process/signal_inbox.h"

namespace lockstep::launch {

struct StreamedOutcome {
  ExitStatus status;
  bool stop_requested = false;  ///< by the user
  bool timed_out = false;       ///< it was ended at its deadline
  bool enough = false;          ///< it was ended because the tick asked for it
};

/// Longest waits for a foreign program.
struct StreamLimits {
  std::optional<Seconds> run;  ///< for its end; none = as long as it takes
  Seconds patience{30};        ///< from a request to end to SIGKILL
};

/// What the reader of a line requests next.
enum class AfterLine {
  kGoOn,
  kEndSoon,  ///< the program cannot come to a good end: it has `patience` left to leave by itself
};

/// Receivers of the lines of a program. Those of standard error go to `errors` where the streams
/// are separate (ProcessSpec::separate_errors), else to `output` too.
struct LineTakers {
  std::function<AfterLine(std::string_view line)> output;
  std::function<AfterLine(std::string_view line)> errors{};
  /// Called about ten times per second, whether lines come or not. True when the program has done
  /// what it was started for and may end.
  std::function<bool()> tick{};
};

/// Runs a foreign program to its end and passes on each line it writes, without its end. A request
/// to stop, the deadline and a tick that asks for the end are passed on to its process group as
/// SIGINT; a second request, or `patience` expired, kills. Processes that the program leaves behind
/// are killed, also those that left its process group, and also when this process is killed. Blocks
/// for as long as the program takes. One at a time in a process. Throws kEnvironment when it cannot
/// be started.
StreamedOutcome run_streamed(const ProcessSpec& spec, const LineTakers& lines, SignalInbox& signals,
                             const Clock& clock, const StreamLimits& limits = {});
/// The same where one taker gets all lines.
StreamedOutcome run_streamed(const ProcessSpec& spec,
                             const std::function<AfterLine(std::string_view line)>& on_line,
                             SignalInbox& signals, const Clock& clock,
                             const StreamLimits& limits = {});

}  // namespace lockstep::launch
