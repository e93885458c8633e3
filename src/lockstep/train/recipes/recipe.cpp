#include "lockstep/train/recipes/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lockstep/base/error.h"

namespace lockstep::train {

// Each in its own file.
Recipe fashion_recipe();
Recipe cifar_resnet18_recipe();
Recipe gan_recipe();
Recipe transfer_recipe();
Recipe steering_recipe();
Recipe script_recipe();

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> kRecipes{fashion_recipe(),  cifar_resnet18_recipe(),
                                            gan_recipe(),      transfer_recipe(),
                                            steering_recipe(), script_recipe()};
  return kRecipes;
}

const Recipe& recipe_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Recipe& recipe : all_recipes()) {
    if (recipe.name == name) return recipe;
    names.push_back(recipe.name);
  }
  throw Error(ErrorKind::kUsage, fmt::format("unknown recipe '{}'", name),
              fmt::format("choose one of: {}", fmt::join(names, ", ")));
}

void require_known_options(const Recipe& recipe, const record::RecipeOptions& options) {
  for (std::string name : record::fields_given(options)) {
    if (std::find(recipe.options.begin(), recipe.options.end(), name) != recipe.options.end()) {
      continue;
    }
    std::replace(name.begin(), name.end(), '_', '-');
    throw Error(ErrorKind::kUsage,
                fmt::format("--{1} has no effect with the recipe {0}", recipe.name, name),
                "lockstep train --help lists the options of each recipe");
  }
}

}  // namespace lockstep::train
