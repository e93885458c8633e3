#pragma once

#include <string>

namespace lockstep::worker {

/// What this worker program offers on this machine, as one line of JSON: LibTorch's version, back
/// ends, BLAS and its speed. `lockstep doctor` reads it.
std::string probe();

/// The names that a training run may give: the recipes, as one line of JSON. `lockstep
/// study` checks a plan with it before the first run.
std::string known_names();

/// The same facts as far as a run's record wants them.
std::string torch_version();
std::string blas_description();

}  // namespace lockstep::worker
