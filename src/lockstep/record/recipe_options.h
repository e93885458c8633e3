#pragma once

#include <concepts>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace lockstep::record {

/// Options of some recipes only. Numbers below 0 and empty texts mean the default of the recipe.
struct RecipeOptions {
  double validation = -1;  ///< part of a folder without val/ that is held back
  bool strict = false;     ///< a file that cannot be used is an error, not skipped
  std::string image_size;  ///< "64", "66x200" (height x width) or "1x28x28" (channels first)
  std::string classes;     ///< "auto", or how many there must be

  double rotate = -1;   ///< degrees to either side
  double zoom = -1;     ///< enlarged by 1 - zoom to 1 + zoom
  double shift_x = -1;  ///< part of the width, to either side
  double shift_y = -1;  ///< part of the height
  double flip = -1;     ///< probability of mirroring left and right

  std::string backbone;    ///< a file with weights, or the name of a network to train from nothing
  bool fine_tune = false;  ///< train the backbone too
  double backbone_rate = -1;  ///< its learning rate as a part of the head's

  std::string model;    ///< TorchScript file to train
  std::string loss;     ///< "cross_entropy" or "mse"
  std::string save;     ///< where the trained module goes after each epoch
  std::string samples;  ///< folder for the sample sheets of a GAN; empty = none
};

/// Calls field(name, value) for each field: the names of the stored JSON.
template <class Visitor, class Options>
requires std::same_as<std::remove_const_t<Options>, RecipeOptions>
void visit_fields(Visitor&& field, Options& options) {
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

void to_json(nlohmann::json& json, const RecipeOptions& options);
/// Absent fields keep their defaults.
void from_json(const nlohmann::json& json, RecipeOptions& options);

/// Names of the fields that differ from their defaults.
std::vector<std::string> fields_given(const RecipeOptions& options);

}  // namespace lockstep::record
