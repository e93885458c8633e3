#pragma once

#include <vector>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/collect/step_digest.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {

/// A run of the store, its steps summed up in one pass.
struct RunDigest {
  store::StoredRun run;
  analyze::StepBreakdown breakdown;
  StepDigest steps;
  std::vector<store::CurvePoint> curve{};  ///< within epochs; only of runs that are shown singly
};

}  // namespace lockstep::collect
