#pragma once

#include <string_view>

#include "lockstep/predict/scaling/scaling_series.h"

namespace lockstep::predict {

/// Devices in one host, read from a device description ("V100 (8/node)", "DGX-1 (8x V100)") or, for
/// bare device and system names, the size such hosts usually have. 0 = nothing known.
int devices_per_host(std::string_view device);

/// Where a prediction stands relative to the step from one host to several, which is where most
/// series lose most. Each is 0 or 1; 0.5 where the host size is itself a guess.
struct Boundary {
  double crosses_next = 0;  ///< last measured count on one host, target on several
  double beyond = 0;        ///< last measured count already on several hosts
  double just_crossed = 0;  ///< last on several, the one before on one
};

/// `target.nodes` and the nodes of the points are used where known, else the host size.
Boundary locate_boundary(const ScalingSeries& series, const ScalingPoint& target);

}  // namespace lockstep::predict
