#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/model/stated_facts.h"

namespace lockstep::import {

/// The number of a fact among those in force, 0 without.
std::int64_t stated_number(const std::vector<StatedFact>& facts, FactKey key);

/// The worker count as stated, or 0. Tasks of Slurm are workers only where nothing else is stated:
/// torchrun has one task per node.
std::int64_t stated_workers(const std::vector<StatedFact>& facts);

/// Hands the facts in force to a run.
void offer_stated(const std::vector<StatedFact>& facts, ImportedRun& run);

}  // namespace lockstep::import
