#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/job_prediction.h"

namespace lockstep::predict {

/// The longest run of a series on one worker count, predicted from the shorter ones.
struct HeldOutTotal {
  std::string series;
  WholeRun actual;
  Estimate predicted;
  double scaled_up = 0;  ///< the shortest run x the ratio of epochs, s
};

/// One for each series and worker count that was run for different numbers of epochs. Throws kData
/// when there is none.
std::vector<HeldOutTotal> hold_out_longest_runs(const std::vector<TableSeries>& series);

}  // namespace lockstep::predict
