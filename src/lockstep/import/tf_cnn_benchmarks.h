#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// TensorFlow's tf_cnn_benchmarks: header, images/sec lines, total images/sec.
LogFormat tf_cnn_benchmarks_format();

}  // namespace lockstep::import
