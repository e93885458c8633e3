#pragma once

#include <cstdint>

#include "lockstep/record/run_spec.h"
#include "lockstep/train/optim/optimizer.h"
#include "lockstep/train/optim/schedule.h"
#include "lockstep/train/recipes/recipe.h"

namespace lockstep::train {

/// Fills in what the user did not give: optimizer, rate, schedule and batch the rate is meant for,
/// from the recipe. The recipe's rate suits its own optimizer only; any other gets its usual one.
void complete_spec(record::RunSpec& spec, const Recipe& recipe);

OptimizerOptions optimizer_options(const record::RunSpec& spec);

/// `total_steps` of the run; a warm-up that the user did not give is the recipe's fraction of them
/// and is written into the spec.
Schedule make_schedule(record::RunSpec& spec, const Recipe& recipe, std::int64_t steps_per_epoch,
                       std::int64_t total_steps);

}  // namespace lockstep::train
