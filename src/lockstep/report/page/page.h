#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/step_breakdown.h"
#include "lockstep/predict/advice.h"
#include "lockstep/predict/phase_model.h"
#include "lockstep/predict/series_table.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/page/chart.h"
#include "lockstep/report/page/choice_quality.h"
#include "lockstep/report/page/step_digest.h"
#include "lockstep/report/study_report.h"
#include "lockstep/store/store.h"

namespace lockstep::report {

/// A run of the store, its steps summed up in one pass.
struct RunDigest {
  store::StoredRun run;
  analyze::StepBreakdown breakdown;
  StepDigest steps;
  std::vector<store::CurvePoint> curve{};  ///< within epochs; only of runs that are shown singly
};

/// All-reduces of many sizes that were timed on one link.
struct LinkCurve {
  std::string name;  ///< "shm, 2 workers"
  int workers = 2;
  std::vector<predict::CollectiveTime> points;
};

/// Lines beyond this many make a chart unreadable; the table below it still has all.
inline constexpr std::size_t kMostLines = 12;

/// What a page is made from.
struct PageSource {
  std::string title;
  std::vector<record::Measurement> rows;
  std::vector<predict::TableSeries> series;  ///< of the rows, ready to be predicted; may be empty
  std::vector<RunDigest> runs;               ///< empty for a page about a table
  std::vector<store::RunSummary> listed;     ///< runs that the page lists, unfinished ones included
  std::vector<LinkCurve> links;
  StudyOptions options{};
  std::map<std::string, double> price_per_hour{};
  std::int64_t made_wall_ns = 0;
  std::vector<std::string> notices{};  ///< what was left out or interpreted, one sentence each
};

/// What to use for one job: a model and its data.
struct JobAdvice {
  std::string job;                  ///< "fashion on fashion-mnist"
  std::vector<std::string> labels;  ///< of the series that the candidates name by index
  std::vector<predict::TableSeries> series;
  predict::Advice advice;
  /// The candidate to use: the count that the verdict finds to pay, of the series where that has
  /// the least time x cost among those that learned as well as the best; where the verdict says
  /// nothing, of all that were run.
  std::size_t at = 0;
  /// What would be used if only time and cost counted, where that learned less.
  std::optional<std::size_t> passed_over;
  ChoiceQuality quality;
  std::optional<double> room;  ///< workers that the host holds; nothing where that is not known
  std::vector<std::string> reasons;  ///< what else to consider, one sentence each

  const predict::Candidate& chosen() const { return advice.candidates[at]; }
  /// "Use 2 workers, B = 512: 11.1 s for one epoch (measured), 0.0062 device-hours; 4 would be
  /// ...".
  std::string sentence() const;
};

/// How far a run was when the page was made: whoever shows the page live sees when it is old.
struct RunStand {
  std::int64_t id = 0;
  store::RunState state = store::RunState::kRunning;
  int epochs_done = 0;
};

struct Page {
  std::string title;
  std::string headline;  ///< the verdict in one sentence
  std::vector<analyze::Finding> findings;
  std::string rule;  ///< by which a worker count pays
  std::vector<JobAdvice> advice;
  std::vector<std::pair<std::string, std::string>> facts;  ///< a name and a value each
  std::vector<View> views;
  std::vector<RunStand> runs;  ///< that the page is about; none for a table
  std::vector<std::string> notices;
  std::int64_t made_wall_ns = 0;
};

/// Runs that are shown one by one: the newest of each configuration, those of most workers first.
std::vector<const RunDigest*> shown_runs(std::span<const RunDigest> runs);

/// Every number of the page is computed here; whoever draws it only draws. Views without data stay
/// in, and say what they lack. Throws kUsage for a baseline that was not measured.
Page build_page(const PageSource& source);

/// The document that docs/formats/page.md describes.
nlohmann::json page_json(const Page& page);

}  // namespace lockstep::report
