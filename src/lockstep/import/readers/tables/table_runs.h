#pragma once

#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {

/// The runs of a table: one per line, one per cell where a column stands for a network, or a single
/// one where the lines are its epochs. None where no column tells the lines apart or has figures.
std::vector<ImportedRun> runs_of_table(const TextTable& table);

}  // namespace lockstep::import
