#pragma once

#include <span>
#include <vector>

#include "lockstep/advise/candidates.h"
#include "lockstep/analyze/speedup/speedup.h"

namespace lockstep::advise {

/// Gives each candidate whose count was run with a known energy what its time would use at the mean
/// power of those runs. Others keep none: power at other counts is not predicted.
void add_energy(const std::vector<predict::TableSeries>& series,
                std::span<const analyze::SpeedupGroup> groups, std::vector<Candidate>& candidates);

}  // namespace lockstep::advise
