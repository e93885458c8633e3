#pragma once

#include <vector>

#include "lockstep/import/importer.h"

namespace lockstep::import {

/// Keeps apart what only looks alike, so that other experiments are never averaged as repeats of
/// one. Runs with the same workers, batch, device, network and data, but with another optimizer,
/// precision, setting or heading get names of their own. Where nothing stated differs but the times
/// are apart by more than their spread, a warning names it.
void tell_apart(ImportedFile& file);
/// The same between files; headings, which are words of one file, do not count.
void tell_apart(std::vector<ImportedFile>& files);

}  // namespace lockstep::import
