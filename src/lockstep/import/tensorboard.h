#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// TensorBoard event files: scalars and wall times.
std::unique_ptr<Reader> make_tensorboard_reader();

}  // namespace lockstep::import
