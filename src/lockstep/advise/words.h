#pragma once

#include "lockstep/advise/job_advice.h"

namespace lockstep::advise {

/// Fills why, alternatives, would_change, caveats and more_is_slower of an advice whose choice
/// is made.
void explain(JobAdvice& job, const Terms& terms);

}  // namespace lockstep::advise
