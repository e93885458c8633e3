#include "lockstep/collect/stored_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lockstep/analyze/run_measurements.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/collect/accumulated_batches.h"
#include "lockstep/record/host_room.h"

namespace lockstep::collect {
namespace {

using record::Measurement;
using RowsByRun = std::map<std::int64_t, std::vector<Measurement>>;

/// Why there is nothing to report on, and what to do about it.
Error no_measurements(store::Store& store, const Selection& selection, const StoredRuns& found) {
  std::set<std::string> studies;
  for (const store::RunSummary& run : store.runs()) {
    if (!run.label.study.empty()) studies.insert(run.label.study);
  }
  const std::string where = selection.study.empty()
                                ? store.path()
                                : fmt::format("study '{}' of {}", selection.study, store.path());
  if (found.used() > 0) {
    return {ErrorKind::kData,
            fmt::format("{} in {} {} no time, loss or accuracy", counted(found.used(), "run"),
                        where, found.used() == 1 ? "has" : "have"),
            "lockstep runs show ID lists what a run has; to add what import reported as missing: "
            "lockstep import --replace --set NAME=VALUE FILE"};
  }
  const std::string what = found.left_out > 0 ? fmt::format("none of the {} in {} has finished",
                                                            counted(found.left_out, "run"), where)
                                              : fmt::format("no runs in {}", where);
  const std::string hint = studies.empty()
                               ? "train or import a run, or give a measurements table with --from"
                               : fmt::format("studies in this store: {}", fmt::join(studies, ", "));
  return {ErrorKind::kData, what, hint};
}

std::vector<store::RunSummary> selected_runs(store::Store& store, const Selection& selection) {
  store.require(selection.runs);
  store::RunFilter filter;
  if (selection.runs.empty() && !selection.study.empty()) filter.study = selection.study;
  std::vector<store::RunSummary> runs = store.runs(filter);
  if (!selection.runs.empty()) {
    const std::set<std::int64_t> named(selection.runs.begin(), selection.runs.end());
    std::erase_if(runs, [&](const store::RunSummary& run) { return !named.contains(run.id); });
  }
  if (runs.empty() && !selection.study.empty()) {
    StoredRuns none;
    throw no_measurements(store, selection, none);
  }
  return runs;
}

RowsByRun imported_rows(store::Store& store, const std::vector<store::RunSummary>& runs) {
  std::vector<std::int64_t> ids;
  for (const store::RunSummary& run : runs) {
    if (run.imported) ids.push_back(run.id);
  }
  RowsByRun rows;
  if (ids.empty()) return rows;
  for (Measurement& row : store.imported_measurements(ids)) {
    rows[std::stoll(row.run)].push_back(std::move(row));
  }
  return rows;
}

analyze::RunIdentity identity_of(const store::RunSummary& run) {
  return {run.id, run.label.study, run.label.repeat};
}

std::vector<Measurement> own_rows(const RunDigest& digest) {
  return analyze::measurements_of(digest.run.started, digest.run.epochs, digest.run.ended,
                                  identity_of(digest.run.summary), digest.breakdown);
}

void append(std::vector<Measurement>& rows, std::vector<Measurement> more) {
  std::move(more.begin(), more.end(), std::back_inserter(rows));
}

}  // namespace

StoredRuns stored_runs(store::Store& store, const Selection& selection, RunDigests& digests) {
  StoredRuns result;
  result.listed = selected_runs(store, selection);
  std::vector<store::RunSummary> used;
  for (const store::RunSummary& run : result.listed) {
    const bool named = !selection.runs.empty();
    if (run.state == store::RunState::kDone || named) {
      used.push_back(run);
    } else if (!store::ran_out_of_memory(run)) {
      ++result.left_out;
    }
  }
  result.runs = digests.of(store.path(), used);
  RowsByRun imported = imported_rows(store, result.listed);
  auto digest = result.runs.begin();
  for (const store::RunSummary& run : result.listed) {
    const bool is_used = digest != result.runs.end() && digest->run.summary.id == run.id;
    const RunDigest* own = is_used ? &*digest++ : nullptr;
    const bool out_of_memory = store::ran_out_of_memory(run);
    result.out_of_memory += out_of_memory;
    if (run.imported) {
      if (is_used || out_of_memory) append(result.rows, std::move(imported[run.id]));
      continue;
    }
    if (out_of_memory) {
      result.rows.push_back(analyze::out_of_memory_row(run.spec, identity_of(run)));
    } else if (own != nullptr) {
      append(result.rows, own_rows(*own));
    }
  }
  join_accumulated(result.rows);
  join_accumulated(result.rows);
  return result;
}

std::vector<Measurement> run_rows(store::Store& store, std::int64_t run) {
  RunDigests digests;
  return stored_runs(store, {"", {run}}, digests).rows;
}

StoredRuns measured_runs(store::Store& store, const Selection& selection) {
  RunDigests digests;
  StoredRuns found = stored_runs(store, selection, digests);
  if (found.rows.empty()) throw no_measurements(store, selection, found);
  return found;
}

analyze::StepBreakdown step_breakdown(store::Store& store, const store::StoredRun& run) {
  RunDigests digests;
  return digests.of(store.path(), std::span(&run.summary, 1)).front().breakdown;
}

analyze::RunFacts run_facts(const record::RunStarted& started) {
  analyze::RunFacts facts;
  const record::RunSpec& spec = started.spec;
  if (spec.data.loader_workers >= 0) facts.loader_workers = spec.data.loader_workers;
  const int per_host = (spec.workers + spec.nodes - 1) / std::max(1, spec.nodes);
  if (started.machine.cores > 0 && per_host > 0) {
    facts.cores = std::max(1, started.machine.cores / per_host);
  }
  return facts;
}

std::map<std::string, std::int64_t> host_rooms(const std::vector<RunDigest>& runs) {
  std::map<std::string, std::int64_t> rooms;
  std::set<std::string> unknown;
  for (const RunDigest& digest : runs) {
    const record::RunSpec& spec = digest.run.started.spec;
    const auto room = record::host_room(spec, digest.run.started.machine);
    if (!room || spec.launcher != record::Launcher::kLocal || digest.run.summary.imported) {
      unknown.insert(spec.recipe);
      continue;
    }
    std::int64_t& most = rooms[spec.recipe];
    most = std::max(most, *room);
  }
  for (const std::string& model : unknown) rooms.erase(model);
  return rooms;
}

}  // namespace lockstep::collect
