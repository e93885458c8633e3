#include "lockstep/report/page/page_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/collect/measured_step.h"
#include "lockstep/collect/simulated_counts.h"
#include "lockstep/store/calibrations.h"

namespace lockstep::report {
namespace {

/// Links of the machines that the runs were made on, the newest calibration of each.
std::vector<LinkCurve> calibrated_link_curves(const std::string& store_path) {
  std::vector<LinkCurve> links;
  std::set<std::string> seen;
  for (const record::LinkCalibration& one : store::calibrations(store_path).links) {
    LinkCurve link{
        fmt::format("{}, {} workers, {}", record::name_of(one.backend), one.workers,
                    one.nodes > 1 ? fmt::format("{} hosts", one.nodes) : one.machine.host),
        one.workers,
        {}};
    if (!seen.insert(link.name).second) continue;
    for (const record::CollectivePoint& point : one.points) {
      link.points.push_back({static_cast<double>(point.bytes), point.seconds, one.workers});
    }
    links.push_back(std::move(link));
  }
  return links;
}

/// The largest run of the first series with recorded steps; of a fixed batch per worker if there is
/// one, since the simulated counts have that too and can be compared.
std::optional<StepToSimulate> step_to_simulate(store::Store& store, const PageSource& source) {
  std::set<std::int64_t> with_steps;
  for (const RunDigest& digest : source.runs) {
    if (digest.steps.steps > 0) with_steps.insert(digest.run.summary.id);
  }
  if (with_steps.empty()) return std::nullopt;
  auto all = predict::job_series_if_any(source.rows, predict::RowsFrom::kStore);
  const auto comparable = [](const predict::TableSeries& one) {
    return one.scaling == predict::Scaling::kWeak;
  };
  std::stable_partition(all.begin(), all.end(), comparable);
  for (const predict::TableSeries& series : all) {
    const std::optional<std::int64_t> run = collect::largest_run(source.rows, series);
    if (!run || !with_steps.contains(*run)) continue;
    try {
      return StepToSimulate{*run, collect::measured_step(store, *run),
                            comparable(series) ? std::optional(series.key) : std::nullopt};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;  // a run without phases
    }
  }
  return std::nullopt;
}

std::string title_of(const store::Store& store, const collect::Selection& selection) {
  if (selection.runs.size() == 1) return fmt::format("Run {}", selection.runs.front());
  if (!selection.runs.empty()) return fmt::format("{} runs compared", selection.runs.size());
  if (!selection.study.empty()) return "Study " + selection.study;
  return "All runs of " + std::filesystem::path(store.path()).filename().string();
}

}  // namespace

PageSource stored_page(store::Store& store, const collect::Selection& selection,
                       collect::RunDigests& digests, StudyOptions options) {
  PageSource source;
  source.title = title_of(store, selection);
  collect::StoredRuns found = collect::stored_runs(store, selection, digests);
  source.rows = std::move(found.rows);
  source.listed = std::move(found.listed);
  source.runs = std::move(found.runs);
  for (const RunDigest* shown : shown_runs(source.runs)) {
    source.runs[static_cast<std::size_t>(shown - source.runs.data())].curve =
        store.curve(shown->run.summary.id);
  }
  if (found.left_out > 0) {
    source.notices.push_back(
        fmt::format("{} not done (running, failed or interrupted) and left out of the "
                    "figures.",
                    counted(found.left_out, "run is", "runs are")));
  }
  source.links = calibrated_link_curves(store.path());
  source.simulated = step_to_simulate(store, source);
  source.options = std::move(options);
  source.options.rows_from = predict::RowsFrom::kStore;
  source.options.rooms = collect::host_rooms(source.runs);
  source.made_wall_ns = SystemClock().wall();
  return source;
}

PageSource table_page(std::string title, std::vector<record::Measurement> rows,
                      std::vector<std::string> notices, StudyOptions options) {
  PageSource source;
  source.title = std::move(title);
  source.rows = std::move(rows);
  source.notices = std::move(notices);
  source.options = std::move(options);
  source.made_wall_ns = SystemClock().wall();
  return source;
}

}  // namespace lockstep::report
