#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::launch {

/// Where lockstep-worker is: $LOCKSTEP_WORKER_PROGRAM, else beside this program, else in PATH.
std::optional<std::string> find_worker_program();

/// What to do where there is no worker, for hints.
inline constexpr char kHowToGetWorker[] =
    "To get a worker, run make programs in the sources of lockstep (it installs LibTorch on "
    "Debian) "
    "or unpack the tarball of make package; LOCKSTEP_WORKER_PROGRAM names one elsewhere";

/// As above; throws kEnvironment when there is none.
std::string require_worker_program();

/// What workers of this host need in their environment besides their rank.
std::vector<std::string> worker_environment();

}  // namespace lockstep::launch
