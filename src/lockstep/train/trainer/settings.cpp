#include "lockstep/train/trainer/settings.h"

namespace lockstep::train {

void complete_spec(record::RunSpec& spec, const Recipe& recipe) {
  const bool own_optimizer = !spec.optimizer || spec.optimizer == recipe.optimizer;
  if (!spec.optimizer) spec.optimizer = recipe.optimizer;
  if (spec.learning_rate <= 0) {
    spec.learning_rate =
        own_optimizer ? recipe.learning_rate : record::facts_of(*spec.optimizer).usual_rate;
  }
  if (spec.momentum < 0) spec.momentum = recipe.momentum;
  if (spec.weight_decay < 0) spec.weight_decay = recipe.weight_decay;
  if (spec.beta1 < 0) spec.beta1 = recipe.beta1;
  if (spec.beta2 < 0) spec.beta2 = recipe.beta2;
  if (!spec.schedule) spec.schedule = recipe.schedule;
  if (spec.base_batch <= 0) spec.base_batch = recipe.base_batch;
  spec.scaled_learning_rate =
      spec.learning_rate * batch_scale(spec.lr_scale, spec.global_batch(), spec.base_batch);
}

OptimizerOptions optimizer_options(const record::RunSpec& spec) {
  OptimizerOptions options;
  options.rule = spec.optimizer.value();
  options.momentum = spec.momentum;
  options.weight_decay = spec.weight_decay;
  options.beta1 = spec.beta1;
  options.beta2 = spec.beta2;
  return options;
}

Schedule make_schedule(record::RunSpec& spec, const Recipe& recipe, std::int64_t steps_per_epoch,
                       std::int64_t total_steps) {
  Schedule schedule;
  schedule.shape = spec.schedule.value();
  const auto epoch = static_cast<double>(steps_per_epoch);
  if (spec.warmup_epochs < 0) {
    spec.warmup_epochs = recipe.warmup_fraction * static_cast<double>(total_steps) / epoch;
  }
  schedule.warmup_steps = spec.warmup_epochs * epoch;
  for (const int drop : spec.lr_steps) schedule.drops.push_back(drop * steps_per_epoch);
  schedule.gamma = spec.lr_gamma;
  return schedule;
}

}  // namespace lockstep::train
