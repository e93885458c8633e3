#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/render/table.h"
#include "lockstep/study/plan/planned_state.h"

namespace lockstep::study {

/// What one run of a study came to, its warm-up left out.
struct RunFigures {
  std::optional<double> examples_per_s;
  std::optional<double> epoch_s;
  bool epoch_derived = false;  ///< examples of an epoch / rate, for runs of less than one
};

/// From the measurements of one run: medians over its epochs.
RunFigures run_figures(const std::vector<record::Measurement>& rows);

/// The lines of a study in progress, one per run. Strategy and threads have a column where the plan
/// has some.
class RunLines {
 public:
  explicit RunLines(std::span<const PlannedRun> plan);

  std::string header() const;
  /// "  3/18   2    128     256  overlap   1    14,213      4.22  done".
  std::string line(std::size_t at, std::size_t of, const PlannedRun& planned,
                   const RunFigures& figures, const std::string& status) const;

 private:
  std::string setting(const std::string& text) const;

  std::size_t setting_width_ = 0;  ///< 0: no column
};

/// One configuration of a plan, for its table.
struct PlanRow {
  Cell cell;
  std::string title;
  int runs = 0;
  int done = 0;
  int failed = 0;
  int out_of_memory = 0;
  std::optional<Seconds> each;  ///< estimated duration of one run
};

/// How far each ladder of the plan came: "ladder on 2 workers: the largest batch that fits is b =
/// 512 (B = 1,024); b = 2,048 ran out of memory". One sentence for each worker count, and strategy,
/// over all repeats; none without ladders.
std::vector<std::string> ladder_sentences(std::span<const PlannedRun> plan,
                                          std::span<const StoredState> states);

report::Table plan_table(const std::vector<PlanRow>& rows);

}  // namespace lockstep::study
