#include <fmt/format.h>

#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/data/augment/crop_flip.h"
#include "lockstep/data/files/cifar.h"
#include "lockstep/data/files/driving_log.h"
#include "lockstep/data/files/idx.h"
#include "lockstep/data/synthetic.h"
#include "lockstep/nets/networks/script_network.h"
#include "lockstep/train/recipes/image_input.h"
#include "lockstep/train/recipes/recipe.h"
#include "lockstep/train/recipes/supervised_task.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

enum class Source { kSynthetic, kDrivingLog, kCifar, kIdx, kImageFolder };

Loss loss_of(const record::RunSpec& spec) {
  return spec.options.loss.empty() ? Loss::kCrossEntropy : loss_from_name(spec.options.loss);
}

bool holds_file(const std::string& folder, const std::string& part) {
  std::error_code problem;
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    if (it->path().filename().string().find(part) != std::string::npos) return true;
  }
  return false;
}

/// By what lies in the folder.
Source source_of(const record::RunSpec& spec) {
  const std::string& path = spec.data.path;
  if (path == "synthetic") return Source::kSynthetic;
  require_source(spec, "data");
  if (holds_file(path, "driving_log.csv")) return Source::kDrivingLog;
  if (holds_file(path, ".bin")) return Source::kCifar;
  if (holds_file(path, "-idx3-ubyte")) return Source::kIdx;
  return Source::kImageFolder;
}

void require_loss(const record::RunSpec& spec, Loss wanted, const char* what) {
  if (loss_of(spec) == wanted) return;
  throw Error(
      ErrorKind::kUsage, fmt::format("{}: contains {}", spec.data.path, what),
      wanted == Loss::kMse ? "train it with --loss mse" : "train it with --loss cross_entropy");
}

data::DataSplit load_script(const record::RunSpec& spec) {
  const auto& options = spec.options;
  switch (source_of(spec)) {
    case Source::kSynthetic:
      return data::make_synthetic({.name = "images",
                                   .shape = image_shape(options, {3, 32, 32}),
                                   .classes = loss_of(spec) == Loss::kMse ? 0 : 10,
                                   .train_examples = 10'000,
                                   .validation_examples = 2'000});
    case Source::kDrivingLog: {
      require_loss(spec, Loss::kMse, "steering angles, not classes");
      data::DrivingLogOptions log_options;
      const auto shape = image_shape(options, {3, 66, 200});
      log_options.files.height = shape.height;
      log_options.files.width = shape.width;
      log_options.files.strict = options.strict;
      log_options.validation = validation_part(options);
      auto log = data::load_driving_log(spec.data.path, log_options);
      log.split.skipped = static_cast<std::int64_t>(log.report.files.skipped.size());
      log.split.report = log.report.files.summary();
      return log.split;
    }
    case Source::kCifar:
      require_loss(spec, Loss::kCrossEntropy, "classes, not targets");
      return data::load_cifar10(spec.data.path);
    case Source::kIdx:
      require_loss(spec, Loss::kCrossEntropy, "classes, not targets");
      return data::load_idx_dataset(spec.data.path, fs::path(spec.data.path).filename().string());
    case Source::kImageFolder:
      require_loss(spec, Loss::kCrossEntropy, "images in class folders, not targets");
      return load_images(spec, image_shape(options, {3, 224, 224}), true, validation_part(options));
  }
  throw Error(ErrorKind::kInternal, "unknown data source");
}

/// The usual ones for the data at hand; docs/guide/recipes.md lists them.
data::Normalisation normalisation_of(const record::RunSpec& spec, const data::ImageShape& shape) {
  if (shape.channels == 1) return kFashionNormalisation;
  if (shape.channels != 3) {
    const auto channels = static_cast<std::size_t>(shape.channels);
    return {std::vector<float>(channels, 0.5F), std::vector<float>(channels, 0.5F)};
  }
  switch (source_of(spec)) {
    case Source::kCifar:
      return kCifarNormalisation;
    case Source::kDrivingLog:
      return kSymmetricNormalisation;
    default:
      return kImageNetNormalisation;
  }
}

std::unique_ptr<Task> make_script_task(const record::RunSpec& spec, const data::DataSplit& data) {
  const auto& options = spec.options;
  if (options.model.empty()) {
    throw Error(ErrorKind::kUsage, "the recipe script needs a --model",
                "in Python, torch.jit.script(model).save('my.pt') writes one");
  }
  const Loss loss = loss_of(spec);
  const int classes = loss == Loss::kCrossEntropy ? class_count(options, data.train->info()) : 0;
  auto network = std::make_shared<nets::ScriptNetwork>(options.model);
  auto task = std::make_unique<SupervisedTask>(network, loss, classes);
  if (!options.save.empty()) {
    task->set_after_epoch([network, path = options.save](int) {
      network->save(path);
      log_info(fmt::format("trained module written to {}", path));
    });
  }
  return task;
}

}  // namespace

Recipe script_recipe() {
  Recipe recipe;
  recipe.name = "script";
  recipe.summary = "any TorchScript module, trained and written back";
  recipe.learning_rate = 0.01;
  recipe.sync_batch_norm = false;
  recipe.options = {"validation", "strict",  "image_size", "classes", "rotate", "zoom",
                    "shift_x",    "shift_y", "flip",       "model",   "loss",   "save"};
  recipe.load_data = load_script;
  recipe.make_transform = [](const record::RunSpec& spec, const data::DataSplit& data,
                             bool augment) {
    const auto& shape = data.train->info().shape;
    return image_transform(
        spec.options, {.input = shape, .normalisation = normalisation_of(spec, shape)}, augment);
  };
  recipe.make_task = make_script_task;
  return recipe;
}

}  // namespace lockstep::train
