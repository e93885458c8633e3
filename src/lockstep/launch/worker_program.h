#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::launch {

/// Where lockstep-worker is: $LOCKSTEP_WORKER_PROGRAM, else beside this program, else in PATH.
std::optional<std::string> find_worker_program();

/// What to do where there is no worker, for hints.
inline constexpr char kHowToGetWorker[] =
    "To get a worker: after pip install of the wheel, lockstep-build-worker builds one for the "
    "torch "
    "of that environment; in the sources of lockstep, make programs does (it installs LibTorch on "
    "Debian). LOCKSTEP_WORKER_PROGRAM names one elsewhere";

/// As above; throws kEnvironment when there is none.
std::string require_worker_program();

/// What workers of this host need in their environment besides their rank.
std::vector<std::string> worker_environment();

}  // namespace lockstep::launch
