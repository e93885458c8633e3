#pragma once

#include <memory>
#include <string>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// Reads any line log by a regular expression (ECMAScript) with named groups, (?<name>...) or
/// (?P<name>...). A group's name says what its number is: epoch, step, loss, val_accuracy,
/// epoch_time, step_time_ms, throughput, ...; workers, batch, model and the other names of `--set`
/// are facts; `run` begins a run each time its text changes. Throws kUsage for a pattern that is
/// none or has no named group.
std::unique_ptr<Reader> make_pattern_reader(const std::string& pattern);

}  // namespace lockstep::import
