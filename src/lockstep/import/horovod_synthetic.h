#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// Horovod's synthetic benchmarks: "Img/sec per GPU" and "Total img/sec on 4 GPU(s)".
LogFormat horovod_synthetic_format();

}  // namespace lockstep::import
