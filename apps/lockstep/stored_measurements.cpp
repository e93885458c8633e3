#include "stored_measurements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "lockstep/analyze/run_measurements.h"
#include "lockstep/base/error.h"
#include "lockstep/store/imports.h"

namespace lockstep::cli {
namespace {

Error nothing_there(store::Store& store, const std::string& study,
                    const StoredMeasurements& found) {
  std::set<std::string> names;
  for (const store::RunSummary& run : store.runs()) {
    if (!run.label.study.empty()) names.insert(run.label.study);
  }
  const std::string where =
      study.empty() ? store.path() : fmt::format("study '{}' of {}", study, store.path());
  if (found.runs > 0) {
    return {ErrorKind::kData,
            fmt::format("the {} run(s) in {} tell no time, loss or accuracy", found.runs, where),
            "lockstep runs shows what they are; lockstep runs show ID what one tells"};
  }
  const std::string what =
      found.left_out > 0 ? fmt::format("none of the {} run(s) in {} is done", found.left_out, where)
                         : fmt::format("there are no runs in {}", where);
  const std::string hint = names.empty()
                               ? "train something, or give a measurements table with --from"
                               : fmt::format("studies in this store: {}", fmt::join(names, ", "));
  return {ErrorKind::kData, what, hint};
}

}  // namespace

namespace {

/// The rows of one run; what it waited for, where it is one of our own, goes into `delays`.
std::vector<record::Measurement> rows_and_delays(store::Store& store,
                                                 const store::RunSummary& summary,
                                                 std::vector<report::RunDelays>& delays) {
  if (store::import_source(store.path(), summary.id)) {
    return store::imported_measurements(store.path(), std::array{summary.id});
  }
  const store::StoredRun run = store.load(summary.id);
  const analyze::StepBreakdown breakdown = stored_breakdown(store, run);
  delays.emplace_back(summary.spec, breakdown.slowest);
  return analyze::measurements_of(run.started, run.epochs, run.ended,
                                  {summary.id, summary.label.study, summary.label.repeat},
                                  breakdown);
}

}  // namespace

std::vector<record::Measurement> run_rows(store::Store& store, const store::RunSummary& summary) {
  std::vector<report::RunDelays> ignored;
  return rows_and_delays(store, summary, ignored);
}

analyze::StepBreakdown stored_breakdown(store::Store& store, const store::StoredRun& run) {
  analyze::StepBreakdownBuilder builder(run.started.spec.workers);
  record::StepBlock block;
  block.steps.resize(1);
  store.visit_steps(run.summary.id, [&](const record::StepTimes& step) {
    block.steps[0] = step;
    builder.add(block);
  });
  return builder.result();
}

StoredMeasurements stored_measurements(store::Store& store, const std::string& study) {
  store::RunFilter filter;
  if (!study.empty()) filter.study = study;
  StoredMeasurements result;
  for (const store::RunSummary& summary : store.runs(filter)) {
    if (store::ran_out_of_memory(summary)) {
      result.rows.push_back(analyze::out_of_memory_row(
          summary.spec, {summary.id, summary.label.study, summary.label.repeat}));
      ++result.runs;
      continue;
    }
    if (summary.state != store::RunState::kDone) {
      ++result.left_out;
      continue;
    }
    const auto rows = rows_and_delays(store, summary, result.delays);
    result.rows.insert(result.rows.end(), rows.begin(), rows.end());
    ++result.runs;
  }
  if (result.rows.empty()) throw nothing_there(store, study, result);
  return result;
}

}  // namespace lockstep::cli
