#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// The timeline that Horovod writes on rank 0: workers, step times, negotiation and collectives.
std::unique_ptr<Reader> make_horovod_timeline_reader();

}  // namespace lockstep::import
