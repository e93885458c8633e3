#include "lockstep/record/recipe_options.h"

#include <nlohmann/json.hpp>

#include "lockstep/record/json_fields.h"

namespace lockstep::record {

template <class Visitor, class Options>
static void visit_options(Visitor&& field, Options& options) {
  field("validation", options.validation);
  field("strict", options.strict);
  field("image_size", options.image_size);
  field("classes", options.classes);
  field("rotate", options.rotate);
  field("zoom", options.zoom);
  field("shift_x", options.shift_x);
  field("shift_y", options.shift_y);
  field("flip", options.flip);
  field("backbone", options.backbone);
  field("fine_tune", options.fine_tune);
  field("backbone_rate", options.backbone_rate);
  field("model", options.model);
  field("loss", options.loss);
  field("save", options.save);
  field("samples", options.samples);
}

void to_json(nlohmann::json& json, const RecipeOptions& options) {
  visit_options(FieldWriter{json}, options);
}

void from_json(const nlohmann::json& json, RecipeOptions& options) {
  visit_options(FieldReader{json}, options);
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
