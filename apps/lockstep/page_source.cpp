#include "page_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "lockstep/analyze/run_measurements.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/imports.h"
#include "measured_series.h"

namespace lockstep::cli {
namespace {

std::vector<store::RunSummary> selected_runs(store::Store& store, const PageSelection& selection) {
  store.require(selection.runs);
  store::RunFilter filter;
  if (selection.runs.empty() && !selection.study.empty()) filter.study = selection.study;
  std::vector<store::RunSummary> runs = store.runs(filter);
  if (!selection.runs.empty()) {
    std::erase_if(runs, [&](const store::RunSummary& run) {
      return std::find(selection.runs.begin(), selection.runs.end(), run.id) ==
             selection.runs.end();
    });
  }
  if (runs.empty() && !selection.study.empty()) {
    throw Error(ErrorKind::kData,
                fmt::format("there is no study '{}' in {}", selection.study, store.path()),
                "lockstep runs lists what there is");
  }
  return runs;
}

/// Links of the machines that the runs were made on, the newest calibration of each.
std::vector<report::LinkCurve> calibrated_links(const std::string& store_path) {
  std::vector<report::LinkCurve> links;
  std::set<std::string> seen;
  for (const record::LinkCalibration& one : store::calibrations(store_path).links) {
    report::LinkCurve link{
        fmt::format("{}, {} workers, {}", one.backend, one.workers,
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

std::string title_of(const store::Store& store, const PageSelection& selection) {
  if (selection.runs.size() == 1) return fmt::format("Run {}", selection.runs.front());
  if (!selection.runs.empty()) return fmt::format("{} runs compared", selection.runs.size());
  if (!selection.study.empty()) return "Study " + selection.study;
  return "All runs of " + std::filesystem::path(store.path()).filename().string();
}

/// Series to predict from; none where no metric scales with the workers.
std::vector<predict::TableSeries> series_or_none(const std::vector<record::Measurement>& rows,
                                                 bool stored) {
  try {
    return series_of_rows(rows, stored);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    return {};
  }
}

void finish(report::PageSource& source, const PageTerms& terms, bool stored) {
  source.series = series_or_none(source.rows, stored);
  source.options = terms.options;
  source.price_per_hour = terms.price_per_hour;
  source.made_wall_ns = SystemClock().wall();
}

}  // namespace

report::PageSource stored_page(store::Store& store, const PageSelection& selection,
                               RunDigests& digests, const PageTerms& terms) {
  report::PageSource source;
  source.title = title_of(store, selection);
  source.listed = selected_runs(store, selection);
  std::vector<store::RunSummary> used;
  std::vector<std::int64_t> ids;
  for (const store::RunSummary& run : source.listed) {
    if (run.state != store::RunState::kDone && selection.runs.empty()) continue;
    used.push_back(run);
    ids.push_back(run.id);
  }
  // Imported runs bring their figures along; those of our own follow from what they recorded.
  std::set<std::string> imported;
  if (!used.empty()) {
    source.rows = store::imported_measurements(store.path(), ids);
    for (const record::Measurement& row : source.rows) imported.insert(row.run);
  }
  source.runs = digests.of(store.path(), used);
  for (const report::RunDigest* shown : report::shown_runs(source.runs)) {
    source.runs[static_cast<std::size_t>(shown - source.runs.data())].curve =
        store.curve(shown->run.summary.id);
  }
  for (const report::RunDigest& digest : source.runs) {
    const std::int64_t id = digest.run.summary.id;
    if (imported.count(std::to_string(id)) != 0) continue;
    const store::RunLabel& label = digest.run.summary.label;
    const auto rows =
        analyze::measurements_of(digest.run.started, digest.run.epochs, digest.run.ended,
                                 {id, label.study, label.repeat}, digest.breakdown);
    source.rows.insert(source.rows.end(), rows.begin(), rows.end());
  }
  if (const std::size_t left = source.listed.size() - used.size(); left > 0) {
    source.notices.push_back(
        fmt::format("{} run{} not done (running, failed or interrupted) and left out of "
                    "the figures.",
                    left, left == 1 ? " is" : "s are"));
  }
  source.links = calibrated_links(store.path());
  finish(source, terms, true);
  return source;
}

report::PageSource table_page(const std::string& path, const PageTerms& terms) {
  report::PageSource source;
  import::MeasurementsTable table = import::read_measurements_file(path);
  source.title = std::filesystem::path(path).stem().string();
  source.rows = std::move(table.rows);
  source.notices = std::move(table.notices);
  finish(source, terms, false);
  return source;
}

}  // namespace lockstep::cli
