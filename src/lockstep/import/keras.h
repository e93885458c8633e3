#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// Keras' epoch lines (verbose 1 and 2, Keras 1 to 3), its progress bars however mangled, and the
/// BenchmarkMetric lines of the TensorFlow models' time callback.
LogFormat keras_format();

}  // namespace lockstep::import
