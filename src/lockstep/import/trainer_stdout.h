#pragma once

#include "lockstep/import/log_reader.h"

namespace lockstep::import {

/// What Hugging Face's Trainer prints: "***** Running training *****" with the sizes of the run,
/// then one Python dict a log step, {'loss': 0.5, 'learning_rate': 4.9e-05, 'epoch': 0.5}.
LogFormat trainer_stdout_format();

}  // namespace lockstep::import
