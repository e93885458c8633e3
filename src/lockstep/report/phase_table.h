#pragma once

#include <string>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// "Where the time went": one row per phase, the mean time per step and its share for each rank and
/// for all. With more than `most_ranks` ranks only the fastest, the slowest and the mean are shown.
Table phase_table(const analyze::StepBreakdown& breakdown, std::size_t most_ranks = 8);

/// One sentence that names the slowest rank and what it cost; empty when there is none.
std::string slowest_rank_sentence(const analyze::StepBreakdown& breakdown);

}  // namespace lockstep::report
