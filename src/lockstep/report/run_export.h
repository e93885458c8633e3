#pragma once

#include <functional>
#include <ostream>

#include "lockstep/store/store.h"

namespace lockstep::report {

/// The run as the events it was recorded from, one JSON line each, steps included: what a worker
/// writes, so a reader of live runs can read this too. A run that was killed has no run_ended
/// line.
void export_events(store::Store& store, std::int64_t id, std::ostream& out);

/// One JSON object: id, status, spec, machine, build, epochs, checkpoints, errors, end; no steps.
std::string run_json(const store::StoredRun& run);

}  // namespace lockstep::report
