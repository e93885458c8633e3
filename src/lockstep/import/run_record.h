#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// An imported run in the words of the record, as a store takes it. Counts that are not known are 0
/// there, names empty.
struct RunRecord {
  record::RunStarted started;
  std::vector<record::EpochResult> epochs;
  record::StepBlock steps;  ///< measured step times, thinned; none where they were derived
  record::RunEnded ended;
  std::vector<record::Measurement> measurements;
};

/// `path` is where the run came from.
RunRecord to_record(const ImportedRun& run, const std::string& path);

/// The run as rows of the measurements table. Only what is known; what was computed from other
/// figures has its derivation in the note "basis".
std::vector<record::Measurement> measurements(const ImportedRun& run);

/// Everything about the run that the record has no place for: where facts come from, what is
/// missing, warnings, notes, the split of ranks, link points, other metrics.
nlohmann::json describe(const ImportedRun& run);

}  // namespace lockstep::import
