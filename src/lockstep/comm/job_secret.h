#pragma once

#include <string>

#include "lockstep/base/sha256.h"
#include "lockstep/comm/placement.h"

namespace lockstep::comm {

/// What the processes of one run know and nobody else does.
using JobSecret = Sha256;

/// From LOCKSTEP_SECRET, which `lockstep` makes for every run, or else from a file of the user,
/// lockstep/secret in XDG_CONFIG_HOME or ~/.config, made on first use and readable by nobody else,
/// which hosts of a cluster share with the home folder. Both are mixed with the job, so that
/// processes of another run of the same user do not fit. Throws kEnvironment when there is neither.
JobSecret job_secret(const GetEnvironment& get, const std::string& job);

}  // namespace lockstep::comm
