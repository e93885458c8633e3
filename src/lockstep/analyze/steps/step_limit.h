#pragma once

#include <string>

#include "lockstep/analyze/steps/remedy.h"
#include "lockstep/analyze/steps/step_breakdown.h"

namespace lockstep::analyze {

/// One sentence on what limits a run, from its measured phases: the rank that the others wait for
/// and the phase in which it is slower than they are, or else the largest part of a step, with what
/// could be done about it as far as the measured times show that. Empty without steps.
std::string limit_sentence(const StepBreakdown& steps, const RunFacts& facts = {});

}  // namespace lockstep::analyze
