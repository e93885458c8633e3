#include "lockstep/base/error.h"
#include "lockstep/data/augment/crop_flip.h"
#include "lockstep/data/files/cifar.h"
#include "lockstep/data/files/idx.h"
#include "lockstep/data/synthetic.h"
#include "lockstep/nets/networks/fashion_net.h"
#include "lockstep/nets/networks/resnet18_cifar.h"
#include "lockstep/train/recipes/image_input.h"
#include "lockstep/train/recipes/recipe.h"
#include "lockstep/train/recipes/supervised_task.h"

namespace lockstep::train {

Recipe fashion_recipe() {
  Recipe recipe;
  recipe.name = "fashion";
  recipe.summary = "a small convolutional network on Fashion-MNIST";
  recipe.learning_rate = 0.1;
  recipe.weight_decay = 1e-4;
  recipe.schedule = record::ScheduleShape::kLinear;
  recipe.warmup_fraction = 0.1;
  recipe.make_task = [](const record::RunSpec&, const data::DataSplit&) -> std::unique_ptr<Task> {
    return std::make_unique<SupervisedTask>(std::make_shared<nets::FashionNet>(),
                                            Loss::kCrossEntropy);
  };
  recipe.load_data = [](const record::RunSpec& spec) {
    const std::string& source = spec.data.path;
    if (source == "synthetic") {
      return data::make_synthetic({.name = "fashion-mnist",
                                   .shape = {1, 28, 28},
                                   .train_examples = 60'000,
                                   .validation_examples = 10'000});
    }
    return data::load_idx_dataset(source.empty() ? data::kFashionMnistFolder : source,
                                  "fashion-mnist");
  };
  recipe.make_transform = [](const record::RunSpec&, const data::DataSplit&,
                             bool) -> std::shared_ptr<const data::Transform> {
    return data::make_crop_flip({.input = {1, 28, 28}, .normalisation = kFashionNormalisation});
  };
  return recipe;
}

Recipe cifar_resnet18_recipe() {
  Recipe recipe;
  recipe.name = "cifar-resnet18";
  recipe.summary = "ResNet-18 for 32x32 images on CIFAR-10";
  recipe.learning_rate = 0.1;
  recipe.weight_decay = 5e-4;
  recipe.schedule = record::ScheduleShape::kCosine;
  recipe.make_task = [](const record::RunSpec&, const data::DataSplit&) -> std::unique_ptr<Task> {
    return std::make_unique<SupervisedTask>(std::make_shared<nets::ResNet18Cifar>(),
                                            Loss::kCrossEntropy);
  };
  recipe.load_data = [](const record::RunSpec& spec) {
    const std::string& source = spec.data.path;
    if (source == "synthetic") return data::make_synthetic({.name = "cifar10"});
    if (source.empty()) {
      throw Error(ErrorKind::kData, "the recipe cifar-resnet18 needs CIFAR-10's binary files",
                  "give --data DIR with data_batch_*.bin and test_batch.bin, or --data synthetic");
    }
    return data::load_cifar10(source);
  };
  recipe.make_transform = [](const record::RunSpec&, const data::DataSplit&,
                             bool augment) -> std::shared_ptr<const data::Transform> {
    return data::make_crop_flip({.input = {3, 32, 32},
                                 .padding = augment ? 4 : 0,
                                 .flip_probability = augment ? 0.5 : 0.0,
                                 .normalisation = kCifarNormalisation});
  };
  return recipe;
}

}  // namespace lockstep::train
