#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "lockstep/record/run_sink.h"
#include "lockstep/store/store.h"
#include "lockstep/store/store_sink.h"
#include "lockstep/study/duration.h"
#include "lockstep/study/plan/sweep.h"

namespace lockstep::study {

enum class RunEnd { kDone, kOutOfMemory, kFailed, kInterrupted };

struct ExecutedRun {
  RunEnd end = RunEnd::kDone;
  std::string problem;  ///< one sentence, of a run that failed or ran out of memory
};

/// What executors work with. The references outlive every executor.
struct ExecutorContext {
  std::string store_path;
  Console& console;
  launch::SignalInbox& signals;
  const Clock& clock;
  /// Makes a sink that shows the events of one run on the status line, after the given text.
  std::function<std::unique_ptr<record::RunSink>(const std::string& prefix)> status_line;
  store::AfterRun after_run;  ///< called when a run is complete in the store
};

/// Carries out runs of a study, each into the store before run() returns.
class Executor {
 public:
  virtual ~Executor() = default;

  /// What is trained, in a word: the recipe, or the program.
  virtual std::string title() const = 0;
  virtual RunLength length() const = 0;
  /// Whether the duration of a stored run predicts that of one of these.
  virtual bool resembles(const store::RunSummary& run) const = 0;

  /// What would be submitted to carry out the run, such as a batch script, below a line that
  /// describes it; empty for runs on this machine.
  virtual std::string preview(const PlannedRun& planned, const std::string& study) const {
    return "";
  }
  /// Called once, before the first run, with the runs of `study` that are due.
  virtual void prepare(const std::vector<PlannedRun>& due, const std::string& study) {}
  /// Called when the user asked for the end of the study.
  virtual void stop() {}

  /// Blocks until the run has ended. `progress` precedes what the status line shows.
  /// Throws when no run of the study can succeed; nothing is kept of such a run.
  virtual ExecutedRun run(const PlannedRun& planned, const store::RunLabel& label,
                          const std::string& progress) = 0;
};

}  // namespace lockstep::study
