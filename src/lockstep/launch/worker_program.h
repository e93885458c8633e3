#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::launch {

/// Where lockstep-worker is: $LOCKSTEP_WORKER_PROGRAM, else beside this program, else in PATH.
std::optional<std::string> find_worker_program();

/// What to do where there is no worker, for hints.
inline constexpr char kHowToGetWorker[] =
    "To get lockstep-worker: after pip install of the wheel, run lockstep-build-worker, which "
    "builds it for the torch of that environment; in the sources of lockstep, run make programs "
    "(on Debian it installs LibTorch). If it is elsewhere, set LOCKSTEP_WORKER_PROGRAM to its path";

/// As above; throws kEnvironment when there is none.
std::string require_worker_program();

/// What workers of this host need in their environment besides their rank.
std::vector<std::string> worker_environment();

}  // namespace lockstep::launch
