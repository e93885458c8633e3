#pragma once

#include <string>

namespace lockstep::worker {

/// What this worker program offers on this machine, as one line of JSON: LibTorch's version, back
/// ends, BLAS and its speed. `lockstep doctor` reads it.
std::string probe();

/// The recipes, as one line of JSON. `lockstep study` checks a plan with it before the first run.
std::string known_names();

std::string torch_version();

}  // namespace lockstep::worker
