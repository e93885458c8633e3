#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lockstep/analyze/audit/audit.h"
#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/quality.h"
#include "lockstep/analyze/speedup/speedup.h"
#include "lockstep/collect/calibrated_links.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

// The tables of a study. docs/metrics.md derives every column. None has rows only where the study
// lacks what it needs; such tables are left out.

/// Time and speedup: one table for each model, data set, kind of scaling and basis of time.
std::vector<Table> speedup_tables(std::span<const analyze::SpeedupGroup> groups);

/// Where the time goes: per epoch where derived, per step where measured.
std::vector<Table> split_tables(std::span<const analyze::SpeedupGroup> groups);

/// The all-reduce, against the calibrated link if that is known.
std::vector<Table> all_reduce_tables(std::span<const analyze::SpeedupGroup> groups,
                                     const collect::CalibratedLinks& links);

/// Loss and accuracy against workers and batch.
std::vector<Table> quality_tables(std::span<const analyze::Configuration> configurations,
                                  const analyze::StabilityRule& rule);

/// Every reported figure beside what it should be; the notes sum up. `slips` adds a column with the
/// likely slip of each figure, which the notes name too.
Table audit_table(const analyze::Audit& audit, bool slips);

}  // namespace lockstep::report
