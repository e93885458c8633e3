#pragma once

#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/readers/tables/printed_histories.h"
#include "lockstep/import/scan/printed_frame.h"

namespace lockstep::import {

/// The runs of frames that have one per line: settings (workers, batch, optimizer, learning rate,
/// ...) and figures of the whole run. Columns that a person derived (speedup, efficiency) are not
/// figures, a time that does not say of what is kept by its own name unless the histories of runs
/// in the same text show it. A line that comes again is one run.
std::vector<ImportedRun> runs_of_frames(const std::vector<PrintedFrame>& frames,
                                        const std::vector<PrintedHistory>& histories = {});

/// Leaves out of `frames` what one of `printed` has already: a table at the end of a text repeats
/// what was printed above it.
void leave_out_repeats(const std::vector<ImportedRun>& printed, std::vector<ImportedRun>& frames);

}  // namespace lockstep::import
