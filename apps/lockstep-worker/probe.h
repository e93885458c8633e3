#pragma once

#include <string>

namespace lockstep::worker {

/// What this worker program offers on this machine, as one line of JSON: LibTorch's version, back
/// ends, BLAS and its speed. `lockstep doctor` reads it.
std::string probe();

/// The same facts as far as a run's record wants them.
std::string torch_version();
std::string blas_description();

}  // namespace lockstep::worker
