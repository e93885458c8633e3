#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// The trainer_state.json of Hugging Face's Trainer.
std::unique_ptr<Reader> make_trainer_state_reader();

}  // namespace lockstep::import
