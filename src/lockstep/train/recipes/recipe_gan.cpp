#include "lockstep/data/synthetic.h"
#include "lockstep/train/recipes/gan_task.h"
#include "lockstep/train/recipes/image_input.h"
#include "lockstep/train/recipes/recipe.h"

namespace lockstep::train {
namespace {

constexpr data::ImageShape kGanShape{3, nets::kDcganSide, nets::kDcganSide};

data::DataSplit load_gan(const record::RunSpec& spec) {
  data::DataSplit split;
  if (spec.data.path == "synthetic") {
    split = data::make_synthetic(
        {.name = "images", .shape = kGanShape, .train_examples = 10'000, .validation_examples = 1});
  } else {
    require_source(spec, "a folder of images");
    // A GAN needs no labels and no validation set: folders are not classes.
    split = load_images(spec, kGanShape, false, 0);
  }
  split.validation = nullptr;
  return split;
}

}  // namespace

Recipe gan_recipe() {
  Recipe recipe;
  recipe.name = "gan";
  recipe.summary = "DCGAN: a generator and a discriminator of 64x64 images, from any folder";
  recipe.batch_per_worker = 256;
  recipe.optimizer = record::Optimizer::kAdam;
  recipe.learning_rate = 0.005;
  recipe.beta1 = 0.5;
  recipe.options = {"strict", "samples", "flip"};
  recipe.load_data = load_gan;
  recipe.make_transform = [](const record::RunSpec& spec, const data::DataSplit&, bool augment) {
    return image_transform(spec.options,
                           {.input = kGanShape, .normalisation = kSymmetricNormalisation}, augment);
  };
  recipe.make_task = [](const record::RunSpec& spec,
                        const data::DataSplit&) -> std::unique_ptr<Task> {
    return std::make_unique<GanTask>(spec.seed, spec.options.samples);
  };
  return recipe;
}

}  // namespace lockstep::train
