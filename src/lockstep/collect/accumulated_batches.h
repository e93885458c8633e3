#pragma once

#include <vector>

#include "lockstep/record/measurement.h"

namespace lockstep::collect {

/// Scripts that keep the global batch accumulate fewer micro-steps on more workers: 8 x 4 examples
/// on 1 worker, 4 x 4 on each of 2. Such runs are one series, so in their rows b becomes the
/// examples per worker and step, and the setting `accumulate` the remark `micro_steps`. Where the
/// number of micro-steps was varied for any other reason, it remains a setting that sets runs
/// apart.
void join_accumulated(std::vector<record::Measurement>& rows);

}  // namespace lockstep::collect
