#pragma once

#include <vector>

#include "lockstep/study/executor.h"
#include "lockstep/study/request.h"
#include "lockstep/study/runner.h"

namespace lockstep::study {

/// Carries out one study, whose sweeps are `parts`, all completed: what they state of the study as
/// a whole is that of the first. With `json`, results go to stdout as JSON. Throws kUsage for what
/// cannot be carried out, before the first run, and as Runner::run().
void run_study(const std::vector<StudyRequest>& parts, const ExecutorContext& context,
               StudyResults results, bool json);

}  // namespace lockstep::study
