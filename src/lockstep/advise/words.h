#pragma once

#include "lockstep/advise/job_advice.h"

namespace lockstep::advise {

/// Fills why, alternatives, would_change, caveats and more_is_slower of an advice whose choice is
/// made.
void explain(JobAdvice& job, const Terms& terms);

/// The part of explain() about the limits at which another candidate would be chosen.
void add_what_would_change(JobAdvice& job, const Terms& terms);

/// "8 workers, B = 512: 7.29 s, 0.0162 device-hours, predicted".
std::string described(const JobAdvice& job, std::size_t at);

/// The candidate of the next larger count of the chosen series; null if there is none.
const Candidate* next_larger(const JobAdvice& job);

}  // namespace lockstep::advise
