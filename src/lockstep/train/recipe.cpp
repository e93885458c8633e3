#include "lockstep/train/recipe.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/data/cifar.h"
#include "lockstep/data/crop_flip.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/synthetic.h"
#include "lockstep/nets/fashion_net.h"
#include "lockstep/nets/resnet18_cifar.h"

namespace lockstep::train {
namespace {

Recipe fashion() {
  Recipe recipe;
  recipe.name = "fashion";
  recipe.summary = "a small convolutional network on Fashion-MNIST";
  recipe.learning_rate = 0.2;
  recipe.weight_decay = 1e-4;
  recipe.schedule = "linear";
  recipe.warmup_fraction = 0.1;
  recipe.make_network = [] { return std::make_shared<nets::FashionNet>(); };
  recipe.load_data = [](const std::string& source) {
    if (source == "synthetic") {
      return data::make_synthetic({.name = "fashion-mnist", .shape = {1, 28, 28},
                                   .train_examples = 60'000, .validation_examples = 10'000});
    }
    return data::load_idx_dataset(source.empty() ? data::kFashionMnistFolder : source,
                                  "fashion-mnist");
  };
  recipe.make_transform = [](bool) -> std::shared_ptr<const data::Transform> {
    return data::make_crop_flip({.input = {1, 28, 28},
                                 .normalisation = {.mean = {0.2860F}, .deviation = {0.3530F}}});
  };
  return recipe;
}

Recipe cifar_resnet18() {
  Recipe recipe;
  recipe.name = "cifar-resnet18";
  recipe.summary = "ResNet-18 for 32x32 images on CIFAR-10";
  recipe.learning_rate = 0.1;
  recipe.weight_decay = 5e-4;
  recipe.schedule = "cosine";
  recipe.make_network = [] { return std::make_shared<nets::ResNet18Cifar>(); };
  recipe.load_data = [](const std::string& source) {
    if (source == "synthetic") return data::make_synthetic({.name = "cifar10"});
    if (source.empty()) {
      throw Error(ErrorKind::kData, "the recipe cifar-resnet18 needs CIFAR-10's binary files",
                  "give --data DIR with data_batch_*.bin and test_batch.bin, or --data synthetic");
    }
    return data::load_cifar10(source);
  };
  recipe.make_transform = [](bool augment) -> std::shared_ptr<const data::Transform> {
    return data::make_crop_flip({.input = {3, 32, 32},
                                 .padding = augment ? 4 : 0,
                                 .flip_probability = augment ? 0.5 : 0.0,
                                 .normalisation = {.mean = {0.4914F, 0.4822F, 0.4465F},
                                                   .deviation = {0.2023F, 0.1994F, 0.2010F}}});
  };
  return recipe;
}

}  // namespace

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> kRecipes{fashion(), cifar_resnet18()};
  return kRecipes;
}

const Recipe& recipe_named(const std::string& name) {
  std::string names;
  for (const Recipe& recipe : all_recipes()) {
    if (recipe.name == name) return recipe;
    names += (names.empty() ? "" : ", ") + recipe.name;
  }
  throw Error(ErrorKind::kUsage, fmt::format("there is no recipe '{}'", name),
              fmt::format("choose one of: {}", names));
}

}  // namespace lockstep::train
