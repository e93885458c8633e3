#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/store/store.h"
#include "lockstep/study/duration.h"
#include "lockstep/study/sweep.h"

namespace lockstep::cli {

enum class RunEnd { kDone, kOutOfMemory, kFailed, kInterrupted };

struct ExecutedRun {
  RunEnd end = RunEnd::kDone;
  std::string problem;  ///< one sentence, of a run that failed or ran out of memory
};

/// Carries out runs of a study, each into the store before run() returns.
class StudyExecutor {
 public:
  virtual ~StudyExecutor() = default;

  /// What is trained, in a word: the recipe, or the program.
  virtual std::string title() const = 0;
  virtual study::RunLength length() const = 0;
  /// Whether a run of the store tells how long one of these takes.
  virtual bool resembles(const store::RunSummary& run) const = 0;

  /// What would be handed to somebody else to carry out the run, such as a batch script, with a
  /// line that says what it is; empty where nothing is.
  virtual std::string preview(const study::PlannedRun& planned, const std::string& study) const {
    return "";
  }
  /// Told once, before the first run, which runs of `study` are to come.
  virtual void prepare(const std::vector<study::PlannedRun>& due, const std::string& study) {}
  /// The user asked for the end of the study.
  virtual void stop() {}

  /// Blocks until the run has ended. `progress` goes before what is shown on the status line.
  /// Throws when no run of the study can succeed; nothing is kept of such a run.
  virtual ExecutedRun run(const study::PlannedRun& planned, const store::RunLabel& label,
                          const std::string& progress) = 0;
};

}  // namespace lockstep::cli
