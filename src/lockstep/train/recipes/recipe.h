#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/augment/transform.h"
#include "lockstep/data/dataset.h"
#include "lockstep/record/run_spec.h"
#include "lockstep/train/recipes/task.h"

namespace lockstep::train {

/// Everything that is particular to one kind of training; the trainer is the same for all.
struct Recipe {
  std::string name;
  std::string summary;

  /// Defaults for what a user leaves open.
  std::int64_t batch_per_worker = 128;
  record::Optimizer optimizer = record::Optimizer::kSgd;
  double learning_rate = 0.1;
  double momentum = 0.9;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  record::ScheduleShape schedule = record::ScheduleShape::kConstant;
  double warmup_fraction = 0;     ///< of all steps
  std::int64_t base_batch = 128;  ///< global batch that the rate is meant for

  /// Whether its batch norms can take their moments over all ranks.
  bool sync_batch_norm = true;
  /// Fields of record::RecipeOptions that it uses; others are refused.
  std::vector<std::string> options;

  /// Chooses what a user left open among the recipe's own options; returns a sentence about it for
  /// the log. Throws kUsage for options that do not go together. May be empty.
  std::function<std::string(record::RecipeOptions& options)> complete_options;

  // The spec is complete except for what is measured: source of the data ("" = its usual place),
  // options, seed.
  std::function<data::DataSplit(const record::RunSpec& spec)> load_data;
  std::function<std::shared_ptr<const data::Transform>(const record::RunSpec& spec,
                                                       const data::DataSplit& data, bool augment)>
      make_transform;
  std::function<std::unique_ptr<Task>(const record::RunSpec& spec, const data::DataSplit& data)>
      make_task;
};

/// Throws kUsage for another name, listing the recipes.
const Recipe& recipe_named(const std::string& name);

const std::vector<Recipe>& all_recipes();

/// Throws kUsage for an option that is given and that the recipe does not use.
void require_known_options(const Recipe& recipe, const record::RecipeOptions& options);

}  // namespace lockstep::train
