#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/data/transform.h"
#include "lockstep/nets/network.h"

namespace lockstep::train {

/// Everything that is particular to one kind of training; the engine is the same for all.
struct Recipe {
  std::string name;
  std::string summary;

  /// Defaults for what a user leaves open.
  std::string optimizer = "sgd";
  double learning_rate = 0.1;
  double momentum = 0.9;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  std::string schedule = "constant";
  double warmup_fraction = 0;     ///< of all steps
  std::int64_t base_batch = 128;  ///< global batch that the rate is meant for

  std::function<std::shared_ptr<nets::Network>()> make_network;
  /// `source` is a folder, "synthetic", or empty for where the data usually is.
  std::function<data::DataSplit(const std::string& source)> load_data;
  std::function<std::shared_ptr<const data::Transform>(bool augment)> make_transform;
};

/// Throws kUsage, listing those there are.
const Recipe& recipe_named(const std::string& name);

const std::vector<Recipe>& all_recipes();

}  // namespace lockstep::train
