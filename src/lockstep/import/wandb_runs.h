#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// The runs table exported from Weights & Biases: one row a run with its settings and last figures.
std::unique_ptr<Reader> make_wandb_runs_reader();

}  // namespace lockstep::import
