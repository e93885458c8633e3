#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "lockstep/store/store.h"
#include "lockstep/store/study_outlook.h"

namespace lockstep::serve {

/// Progress of a run, in [0, 1], and its remaining time at the last reported pace; nothing
/// if it is not running or has not reported.
struct Outlook {
  double fraction = 0;
  std::optional<double> remaining_s;
};
std::optional<Outlook> outlook(const store::RunSummary& run);

/// Counts of every study, the newest first; of those under way also `planned`, `at_most` and, where
/// it can be told, `remaining_s`: what the runs under way still take and what the study expects of
/// the runs after them. Until it expects anything, those are taken to last as long as this one.
nlohmann::json studies_json(std::span<const store::RunSummary> runs,
                            std::span<const store::StudyOutlook> outlooks);

}  // namespace lockstep::serve
