#pragma once

#include <vector>

#include "lockstep/import/importer.h"

namespace lockstep::import {

/// Logs whose names differ only in a rank ("job.rank.0.log") become one run, that of the first.
/// Traces come one file per rank. Those of one folder with the same world size and different ranks
/// become one run, of the file with the lowest rank; the other files are left without runs. The
/// digest becomes that of all of them together, in the order of ranks.
void merge_ranks(std::vector<ImportedFile>& files);

}  // namespace lockstep::import
