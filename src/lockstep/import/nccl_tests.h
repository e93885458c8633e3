#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// nccl-tests tables (all_reduce_perf and its sisters), as a calibration of the link.
LogFormat nccl_tests_format();

}  // namespace lockstep::import
