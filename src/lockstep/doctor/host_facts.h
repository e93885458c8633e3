#pragma once

#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/doctor/findings.h"

namespace lockstep::doctor {

/// Looks at this machine: /proc, /sys, the programs in PATH, and `lockstep-worker probe`, up to a
/// minute each. Nothing that is missing is an error.
HostFacts gather_host_facts(const std::string& store_path, const Clock& clock);

}  // namespace lockstep::doctor
