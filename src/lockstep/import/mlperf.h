#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// MLPerf training result logs: :::MLLOG and :::MLL lines.
LogFormat mlperf_format();

}  // namespace lockstep::import
