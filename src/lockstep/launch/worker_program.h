#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::launch {

/// Where lockstep-worker is: $LOCKSTEP_WORKER_PROGRAM, else beside this program, else in PATH.
std::optional<std::string> find_worker_program();

/// As above; throws kEnvironment when there is none.
std::string require_worker_program();

/// What workers need in their environment besides their rank: the OpenBLAS kernels that fit this
/// CPU, unless the user chose some.
std::vector<std::string> worker_environment();

}  // namespace lockstep::launch
