#include <fmt/format.h>

#include "lockstep/data/files/driving_log.h"
#include "lockstep/data/synthetic.h"
#include "lockstep/nets/networks/pilot_net.h"
#include "lockstep/train/recipes/image_input.h"
#include "lockstep/train/recipes/recipe.h"
#include "lockstep/train/recipes/supervised_task.h"

namespace lockstep::train {
namespace {

constexpr data::ImageShape kSteeringShape{3, 66, 200};

data::DataSplit load_steering(const record::RunSpec& spec) {
  if (spec.data.path == "synthetic") {
    return data::make_synthetic({.name = "driving-log",
                                 .shape = kSteeringShape,
                                 .classes = 0,
                                 .train_examples = 8'000,
                                 .validation_examples = 1'000});
  }
  require_source(spec, "the folder of a driving_log.csv");
  data::DrivingLogOptions options;
  options.files.strict = spec.options.strict;
  options.validation = validation_part(spec.options);
  auto log = data::load_driving_log(spec.data.path, options);
  log.split.skipped = static_cast<std::int64_t>(log.report.files.skipped.size());
  log.split.report = log.report.files.summary();
  if (log.report.missing_side_images > 0) {
    log.split.report +=
        fmt::format("{}{} left and right images named in the log do not exist",
                    log.split.report.empty() ? "" : "; ", log.report.missing_side_images);
  }
  return log.split;
}

}  // namespace

Recipe steering_recipe() {
  Recipe recipe;
  recipe.name = "steering";
  recipe.summary = "PilotNet: the steering angle from the road ahead, on a driving log";
  recipe.batch_per_worker = 64;
  recipe.optimizer = record::Optimizer::kAdam;
  recipe.learning_rate = 0.001;
  recipe.options = {"validation", "strict"};
  recipe.load_data = load_steering;
  recipe.make_transform = [](const record::RunSpec&, const data::DataSplit&,
                             bool) -> std::shared_ptr<const data::Transform> {
    return data::make_affine({.input = kSteeringShape, .normalisation = kSymmetricNormalisation});
  };
  recipe.make_task = [](const record::RunSpec&, const data::DataSplit&) -> std::unique_ptr<Task> {
    return std::make_unique<SupervisedTask>(std::make_shared<nets::PilotNet>(), Loss::kMse);
  };
  return recipe;
}

}  // namespace lockstep::train
