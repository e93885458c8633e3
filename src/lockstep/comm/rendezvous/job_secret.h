#pragma once

#include <string>

#include "lockstep/comm/rendezvous/mac.h"
#include "lockstep/comm/rendezvous/placement.h"

namespace lockstep::comm {

/// The key that the processes of one run have in common and no other process has.
using JobSecret = Mac;

/// From LOCKSTEP_SECRET, which `lockstep` makes for every run, or else from a file of the user,
/// lockstep/secret in XDG_CONFIG_HOME or ~/.config, made on first use and readable by its owner
/// only, which the hosts of a cluster share with the home folder. Both are mixed with `job`, so
/// that processes of another run of the same user are refused. Throws kEnvironment without either.
JobSecret job_secret(const GetEnvironment& get, const std::string& job);

}  // namespace lockstep::comm
