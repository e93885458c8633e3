#pragma once

#include <cstdint>

#include "lockstep/record/run_spec.h"
#include "lockstep/train/optimizer.h"
#include "lockstep/train/recipe.h"
#include "lockstep/train/schedule.h"

namespace lockstep::train {

/// Fills in what the user left open: optimizer, rate, schedule and batch the rate is meant for,
/// from the recipe. A rate made for another optimizer is of no use, so an optimizer that is not the
/// recipe's gets its own usual one.
void complete_spec(record::RunSpec& spec, const Recipe& recipe);

OptimizerOptions optimizer_options(const record::RunSpec& spec);

/// `total_steps` of the run; a warm-up that the user left open is the recipe's share of them and is
/// written into the spec.
Schedule make_schedule(record::RunSpec& spec, const Recipe& recipe, std::int64_t steps_per_epoch,
                       std::int64_t total_steps);

}  // namespace lockstep::train
