#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// A chart exported from Weights & Biases: one column a run and metric ("run - train/loss", with
/// __MIN and __MAX beside it). One run a name.
std::unique_ptr<Reader> make_wandb_chart_reader();

}  // namespace lockstep::import
