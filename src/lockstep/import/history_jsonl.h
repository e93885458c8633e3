#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// Figures as JSON lines: the history of Weights & Biases (_step, _runtime, _timestamp) and other
/// logs of one flat object a line.
std::unique_ptr<Reader> make_history_jsonl_reader();

}  // namespace lockstep::import
