#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/first_cause.h"
#include "lockstep/launch/process/child_process.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "lockstep/record/event.h"

namespace lockstep::launch {

/// Receives the events and output of a group of workers. Called on the thread that runs the group;
/// what it throws ends the group at once and passes through.
class GroupObserver {
 public:
  virtual ~GroupObserver() = default;
  virtual void on_event(int rank, const record::Event& event) = 0;
  /// A line that a worker wrote to stdout or stderr, without its line break.
  virtual void on_output(int rank, std::string_view line) = 0;
  /// The user requested the end: `killing` is false the first time, when workers may still finish
  /// their step, and true when they are killed.
  virtual void on_stop(bool killing) = 0;
};

/// Longest waits; nothing here limits how long a healthy run takes.
struct GroupLimits {
  Seconds end{5};       ///< from SIGTERM to SIGKILL, once one worker failed
  Seconds cause{2};     ///< for the cause, once a worker reported the loss of a peer
  Seconds leave{30};    ///< for workers to end after the run was over
  Seconds stop{120};    ///< for workers to end after the user requested it
  Seconds silence{10};  ///< a worker that sent heartbeats and then none for that long has hung
};

struct GroupOutcome {
  std::vector<WorkerOutcome> workers;  ///< by rank
  std::optional<Failure> failure;      ///< the first cause; absent when the group ended well
  bool stop_requested = false;
};

/// Starts one process for each of `specs` (rank = index) and blocks until all have ended. Each gets
/// LOCKSTEP_EVENT_FD, the write end of a pipe for record lines, unless these come on its output.
/// When one fails, the others are ended too. A request to stop from `signals` is passed on as
/// SIGINT, a second one kills. Memory is bounded however much workers write. Throws kEnvironment
/// when a process cannot be started.
GroupOutcome run_group(std::vector<ProcessSpec> specs, GroupObserver& observer,
                       SignalInbox& signals, const Clock& clock, const GroupLimits& limits = {});

}  // namespace lockstep::launch
