#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/record/machine.h"
#include "lockstep/record/run_spec.h"

namespace lockstep::record {

/// The most workers that the hosts of a run have room for, with the threads (or the GPU) that each
/// worker had there, or that were run. Nothing if the run does not record what its host has, as
/// imported ones do not.
std::optional<std::int64_t> host_room(const RunSpec& spec, const Machine& machine);

}  // namespace lockstep::record
