#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/terminal/console.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "lockstep/record/measurement.h"
#include "lockstep/store/store.h"
#include "lockstep/study/executor.h"
#include "lockstep/study/plan/planned_state.h"
#include "lockstep/study/run_lines.h"

namespace lockstep::study {

/// One run of a study and its executor.
struct StudyRun {
  PlannedRun planned;
  Executor* executor = nullptr;
};

struct StudyOptions {
  std::string name;
  std::string store_path;
  bool json = false;  ///< results on stdout as JSON, all else on stderr
  bool dry_run = false;
  bool retry_failed = false;
  std::string warm_up;  ///< the rule by which the start of a run is left out, one sentence
  std::string memory;   ///< what its runs may allocate, one sentence; empty = no limit
};

/// What the runner prints and others compute.
struct StudyResults {
  std::function<std::vector<record::Measurement>(std::int64_t run)> measurements;  ///< of one run
  std::function<std::string()> report;  ///< tables and verdict of the study
};

/// Shows the plan, carries out what of it is not yet in the store, one line per run, and ends with
/// the study's tables and verdict.
class Runner {
 public:
  /// `runs` in the order to carry them out. The references outlive this object.
  Runner(std::vector<StudyRun> runs, StudyOptions options, StudyResults results, Console& console,
         launch::SignalInbox& signals);

  /// Throws kWorker at the end when any run failed, kInterrupted when the user stopped it, kUsage
  /// when another process carries out the same study.
  void run();

 private:
  struct Counts {
    std::int64_t done = 0;
    std::int64_t failed = 0;
    std::int64_t out_of_memory = 0;
  };

  void load();
  bool is_due(std::size_t at) const;
  /// Of the runs from `from` on that are due; the duration of all only if that of each is known.
  struct Expected {
    std::int64_t due = 0;
    std::optional<Seconds> duration;
  };
  Expected expected(std::size_t from) const;
  std::string time_left(std::size_t from) const;
  void tell_outlook(std::size_t at) const;
  /// A rung of a ladder above its first that nothing is known of yet.
  bool is_untried_rung(std::size_t at) const;
  void show_plan();
  void carry_out();
  void carry_out(std::size_t at);
  /// Ends the study when nothing but one problem was seen so far.
  void end_if_all_fail(std::size_t at, const std::string& problem);
  void prepare();
  void stop_executors();
  [[noreturn]] void stop();
  std::string line(std::size_t at, const std::string& status);
  void show_report();
  void show_preview();
  void show_ladders();
  Counts counts() const;
  /// Results that are not the report: beside it where stdout is for a program.
  void say(const std::string& text);

  std::vector<StudyRun> runs_;
  StudyOptions options_;
  StudyResults results_;
  Console& console_;
  launch::SignalInbox& signals_;
  std::vector<PlannedRun> plan_;
  RunLines lines_;
  std::vector<store::RunSummary> stored_;  ///< all of the store, for estimates
  std::vector<StoredState> states_;
  std::vector<std::string> problems_;  ///< of the runs that failed now
};

}  // namespace lockstep::study
