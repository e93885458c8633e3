#pragma once

#include <string>
#include <vector>

#include "lockstep/report/page/page.h"

namespace lockstep::report {

/// What else to consider beside the choice of a job, one sentence each.
std::vector<std::string> reasons_of(const JobAdvice& job);

}  // namespace lockstep::report
