#pragma once

#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/launch/process/child_process.h"

namespace lockstep::launch {

/// The output of a short-lived program.
struct CapturedOutput {
  std::string output;  ///< stdout, the first MiB
  std::string errors;  ///< stderr, the first MiB; empty unless the streams are separate
  ExitStatus status;
  bool timed_out = false;  ///< it was killed
};

/// Runs a program to its end, at most `timeout`. Throws kEnvironment when it cannot be started.
CapturedOutput run_captured(const ProcessSpec& spec, Seconds timeout, const Clock& clock);

}  // namespace lockstep::launch
