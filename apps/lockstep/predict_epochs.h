#pragma once

#include "command.h"
#include "measured_series.h"

namespace lockstep::cli {

/// The total time of the longest runs of each series and worker count, predicted from the shorter
/// ones, beside what was measured and beside the shortest run scaled up. One row, or JSON object, a
/// series and count. Throws kData when no count was run for two numbers of epochs.
void predict_held_out_epochs(const GlobalOptions& global, const MeasuredSource& source);

}  // namespace lockstep::cli
