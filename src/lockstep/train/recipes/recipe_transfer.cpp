#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/data/synthetic.h"
#include "lockstep/nets/networks/transfer_net.h"
#include "lockstep/train/recipes/image_input.h"
#include "lockstep/train/recipes/recipe.h"
#include "lockstep/train/recipes/supervised_task.h"

namespace lockstep::train {
namespace {

constexpr data::ImageShape kUsualShape{3, 224, 224};
constexpr double kUsualBackboneRate = 0.1;

data::DataSplit load_transfer(const record::RunSpec& spec) {
  const auto shape = image_shape(spec.options, kUsualShape);
  if (spec.data.path == "synthetic") {
    return data::make_synthetic({.name = "images",
                                 .shape = shape,
                                 .classes = 6,
                                 .train_examples = 960,
                                 .validation_examples = 240});
  }
  require_source(spec, "images in one folder per class");
  return load_images(spec, shape, true, validation_part(spec.options));
}

/// Without weights to start from, the recipe can still be tried and timed.
std::string choose_backbone(record::RecipeOptions& options) {
  if (!options.backbone.empty()) return "";
  if (options.fine_tune || options.backbone_rate > 0) {
    throw Error(ErrorKind::kUsage, "--fine-tune and --backbone-rate need trained weights",
                "name a file with --backbone, or omit them to train from scratch");
  }
  options.backbone = "mobilenet_v2";
  return "no --backbone: mobilenet_v2 is trained from scratch, which takes far more data and "
         "epochs "
         "than a trained backbone (docs/guide/recipes.md has two lines of Python that write one)";
}

std::unique_ptr<Task> make_transfer_task(const record::RunSpec& spec, const data::DataSplit& data) {
  const auto& options = spec.options;
  auto mode = options.fine_tune ? nets::BackboneMode::kFineTuned : nets::BackboneMode::kFrozen;
  if (nets::is_backbone_name(options.backbone)) mode = nets::BackboneMode::kFromNothing;
  const auto& info = data.train->info();
  const int classes = class_count(options, info);
  const auto probe = torch::zeros({1, info.shape.channels, info.shape.height, info.shape.width});
  auto network = std::make_shared<nets::TransferNet>(options.backbone, mode, classes, probe);
  auto task = std::make_unique<SupervisedTask>(network, Loss::kCrossEntropy, classes);
  if (mode == nets::BackboneMode::kFineTuned) {
    const double rate = options.backbone_rate > 0 ? options.backbone_rate : kUsualBackboneRate;
    task->set_slow_part("head.", rate);
  }
  return task;
}

}  // namespace

Recipe transfer_recipe() {
  Recipe recipe;
  recipe.name = "transfer";
  recipe.summary = "a new head on a trained backbone, for images in one folder per class";
  recipe.batch_per_worker = 32;
  recipe.optimizer = record::Optimizer::kAdam;
  recipe.learning_rate = 0.001;
  recipe.options = {"validation", "strict",   "image_size", "classes",
                    "rotate",     "zoom",     "shift_x",    "shift_y",
                    "flip",       "backbone", "fine_tune",  "backbone_rate"};
  recipe.complete_options = choose_backbone;
  recipe.load_data = load_transfer;
  recipe.make_transform = [](const record::RunSpec& spec, const data::DataSplit& data,
                             bool augment) {
    return image_transform(
        spec.options, {.input = data.train->info().shape, .normalisation = kImageNetNormalisation},
        augment);
  };
  recipe.make_task = make_transfer_task;
  return recipe;
}

}  // namespace lockstep::train
