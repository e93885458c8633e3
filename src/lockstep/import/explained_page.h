#pragma once

#include <string>
#include <vector>

#include "lockstep/import/import_summary.h"

namespace lockstep::import {

/// What was taken from each line of the files, as one self-contained HTML page: the summary of each
/// file, then its lines beside their meaning, with one colour per run.
std::string explained_page(const std::vector<FileOutcome>& outcomes);

}  // namespace lockstep::import
