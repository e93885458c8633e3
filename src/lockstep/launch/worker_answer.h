#pragma once

#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"

namespace lockstep::launch {

/// What the worker program prints when it is asked something it answers at once ("probe",
/// "device"). Blocks, at most `timeout`. Throws kEnvironment when there is no worker program or it
/// does not answer.
std::string worker_answer(const std::vector<std::string>& arguments, Seconds timeout,
                          const Clock& clock);

}  // namespace lockstep::launch
