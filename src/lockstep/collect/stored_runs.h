#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/analyze/steps/remedy.h"
#include "lockstep/collect/run_digests.h"
#include "lockstep/record/measurement.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {

/// Which runs of a store: those named, else those of a study, else all.
struct Selection {
  std::string study{};
  std::vector<std::int64_t> runs{};
};

/// The runs of a store as every command and every page uses them.
struct StoredRuns {
  /// Of the runs that are done and of those that ran out of memory, by run. Runs of our own follow
  /// from what they recorded, imported ones have the rows that were imported.
  std::vector<record::Measurement> rows;
  std::vector<RunDigest> runs;            ///< that are done or were named
  std::vector<store::RunSummary> listed;  ///< all that were selected, unfinished ones included
  std::int64_t out_of_memory = 0;         ///< runs
  std::int64_t left_out = 0;              ///< runs that are not done and were not named

  std::int64_t used() const { return static_cast<std::int64_t>(listed.size()) - left_out; }
};

/// The one way from a store to measurements. Reads imported rows in one query and the steps of each
/// run at most once; `digests` keeps those for the next call. Throws kData for a run or a study
/// that is not in the store; a store without finished runs gives no rows.
StoredRuns stored_runs(store::Store& store, const Selection& selection, RunDigests& digests);

/// The rows of one run, for any state of it. Throws kData for an unknown id.
std::vector<record::Measurement> run_rows(store::Store& store, std::int64_t run);

/// As stored_runs(); throws kData when the runs have no measurement, with the studies that there
/// are.
StoredRuns measured_runs(store::Store& store, const Selection& selection);

/// Where the time of a stored run's steps went; without ranks when no steps were recorded.
analyze::StepBreakdown step_breakdown(store::Store& store, const store::StoredRun& run);

/// What else is known of it, for what could be done about its limit.
analyze::RunFacts run_facts(const record::RunStarted& started);

/// How many workers the hosts of each model's runs have room for. Only where all of its runs were
/// started on one host: the size of a cluster does not follow from the runs on it.
std::map<std::string, std::int64_t> host_rooms(const std::vector<RunDigest>& runs);

}  // namespace lockstep::collect
