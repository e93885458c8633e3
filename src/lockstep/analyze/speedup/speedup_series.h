#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/analyze/speedup/speedup.h"

namespace lockstep::analyze {

/// B under strong scaling, b under weak.

/// Forms the speedups of a group whose points, scaling and basis are set: each series of one fixed
/// batch against its baseline. What is not compared goes to `refusals`, notes go to `remarks`.
void add_speedups(SpeedupGroup& group, const SpeedupOptions& options);

}  // namespace lockstep::analyze
