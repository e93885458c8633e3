#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/advise/job_advice.h"
#include "lockstep/collect/run_digest.h"
#include "lockstep/predict/phases/phase_model.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/page/chart.h"
#include "lockstep/report/study_report.h"
#include "lockstep/simulate/step_source.h"
#include "lockstep/store/store.h"

namespace lockstep::report {

using advise::JobAdvice;
using collect::RunDigest;

/// All-reduces of many sizes that were timed on one link.
struct LinkCurve {
  std::string name;  ///< "shm, 2 workers"
  int workers = 2;
  std::vector<predict::CollectiveTime> points;
};

/// The step that a page simulates on more workers.
struct StepToSimulate {
  std::int64_t run = 0;
  simulate::StepSource step;
  std::optional<analyze::SeriesKey> series{};  ///< to compare with; the run is its largest count
};

/// Lines beyond this many make a chart unreadable; the table below it still has all.
inline constexpr std::size_t kMostLines = 12;

/// What a page is made from.
struct PageSource {
  std::string title;
  std::vector<record::Measurement> rows;
  std::vector<RunDigest> runs;            ///< empty for a page about a table
  std::vector<store::RunSummary> listed;  ///< runs that the page lists, unfinished ones included
  std::vector<LinkCurve> links;
  std::optional<StepToSimulate> simulated{};
  StudyOptions options{};
  std::int64_t made_wall_ns = 0;
  std::vector<std::string> notices{};  ///< what was left out or interpreted, one sentence each
};

/// How far a run was when the page was made: a live view compares it with the run to see whether
/// the page is out of date.
struct RunPosition {
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
  std::vector<RunPosition> runs;  ///< that the page is about; none for a table
  std::vector<std::string> notices;
  std::int64_t made_wall_ns = 0;
};

/// Runs that are shown one by one: the newest of each configuration, those of most workers first.
std::vector<const RunDigest*> shown_runs(std::span<const RunDigest> runs);

/// Every number of the page is computed here; the browser only draws. Views without data stay in,
/// with a sentence about what they lack. Throws kUsage for a baseline that was not measured.
Page build_page(const PageSource& source);

/// The document that docs/formats/page.md describes.
nlohmann::json page_json(const Page& page);

}  // namespace lockstep::report
