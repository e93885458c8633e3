#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// Megatron-LM and DeepSpeed stdout: arguments, iteration lines, timers, SamplesPerSec.
LogFormat megatron_format();

}  // namespace lockstep::import
