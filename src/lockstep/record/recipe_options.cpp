#include "lockstep/record/recipe_options.h"

#include <nlohmann/json.hpp>

#include "lockstep/record/json_fields.h"

namespace lockstep::record {

void to_json(nlohmann::json& json, const RecipeOptions& options) {
  visit_fields(FieldWriter{json}, options);
}

void from_json(const nlohmann::json& json, RecipeOptions& options) {
  visit_fields(FieldReader{json}, options);
}

std::vector<std::string> fields_given(const RecipeOptions& options) {
  const nlohmann::json given = options, defaults = RecipeOptions{};
  std::vector<std::string> names;
  for (const auto& [name, value] : given.items()) {
    if (value != defaults.at(name)) names.push_back(name);
  }
  return names;
}

}  // namespace lockstep::record
