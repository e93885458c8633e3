#pragma once

#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/study/request.h"

namespace lockstep::study {

/// Asks the worker program which recipes there are, and throws kUsage for a part of the study
/// that names another, before any run begins. A worker that does not answer is left to
/// check them itself.
void check_names(const std::vector<StudyRequest>& parts, const Clock& clock);

}  // namespace lockstep::study
