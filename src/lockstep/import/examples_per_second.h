#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// "loss 0.2, train acc 0.9, test acc 0.8 / 4728.8 examples/sec on [devices]" printouts of d2l.ai,
/// also with sec/epoch and tokens/sec.
LogFormat examples_per_second_format();

}  // namespace lockstep::import
