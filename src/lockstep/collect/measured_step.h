#pragma once

#include <cstdint>

#include "lockstep/simulate/step_source.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {

/// The step of a stored run as a simulation starts from it: mean phases over ranks and steps after
/// the warm-up, without communication; how a rank's compute time varies; gradients; calibrated
/// links. From any run whose steps were recorded: of the trainer, the library, a watched script or
/// an imported trace. Throws kData for an unknown run and for one without phases.
simulate::StepSource measured_step(store::Store& store, std::int64_t run);

}  // namespace lockstep::collect
