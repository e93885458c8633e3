#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"

namespace lockstep::comm {

/// The communicator of a run with one worker: nothing to wait for, nothing to move.
std::unique_ptr<Communicator> make_single();

}  // namespace lockstep::comm
