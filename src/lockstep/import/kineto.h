#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// Traces of the PyTorch profiler (Kineto): step times, and the compute, communication and overlap
/// of the rank that wrote it.
std::unique_ptr<Reader> make_kineto_reader();

}  // namespace lockstep::import
