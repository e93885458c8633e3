#include "lockstep/train/trainer/trainer.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"

// How a run is saved and resumed.
namespace lockstep::train {
namespace {

constexpr char kLossSum[] = "loss_sum_of_player_";

}  // namespace

void Trainer::resume() {
  if (!checkpoints_) {
    throw Error(ErrorKind::kUsage, "--resume needs a checkpoint folder", "add --checkpoint DIR");
  }
  // Every rank reads the same file, so none has to send its content.
  // In the middle of an epoch the order of examples depends on the global batch; between two it
  // does not.
  auto checkpoint = checkpoints_->read_newest([this](const Checkpoint& one) {
    return one.position.step == 0 || one.identity.global_batch == request_.spec.global_batch();
  });
  if (!checkpoint) checkpoint = checkpoints_->read_newest();
  if (!checkpoint) {
    if (communicator_.rank() == 0) {
      log_info(fmt::format("no checkpoint in {} yet: starting from the beginning",
                           request_.checkpoint_dir));
    }
    return;
  }
  const auto& identity = checkpoint->identity;
  const auto& spec = request_.spec;
  if (identity.recipe != spec.recipe || identity.parameters != spec.parameters) {
    throw Error(
        ErrorKind::kData,
        fmt::format(
            "the checkpoint in {} belongs to recipe {} with {} parameters, not to {} with {}",
            request_.checkpoint_dir, identity.recipe, identity.parameters, spec.recipe,
            spec.parameters),
        "resume with that recipe, or give another --checkpoint folder");
  }
  if (identity.seed != spec.seed ||
      (checkpoint->position.step > 0 && identity.global_batch != spec.global_batch())) {
    throw Error(
        ErrorKind::kData,
        fmt::format(
            "the checkpoint in {} was written with seed {} and global batch {}, not {} and {}",
            request_.checkpoint_dir, identity.seed, identity.global_batch, spec.seed,
            spec.global_batch()),
        "to resume within an epoch, both must be the same");
  }
  if (const auto optimizer = record::name_of(identity.optimizer);
      identity.optimizer != spec.optimizer) {
    throw Error(ErrorKind::kData,
                fmt::format("the checkpoint in {} contains the state of optimizer {}, not of {}",
                            request_.checkpoint_dir, optimizer, record::name_of(spec.optimizer)),
                fmt::format("resume with --optimizer {}", optimizer));
  }
  for (const auto& learner : learners_) learner->restore(*checkpoint);
  position_ = checkpoint->position;
  // With another global batch an epoch has another number of steps.
  if (identity.global_batch != spec.global_batch() && spec.max_steps == 0) {
    position_.total = (position_.epoch - 1) * steps_per_epoch_;
  }
  for (std::size_t i = 0; i < loss_sums_.size(); ++i) {
    const auto sum = checkpoint->figures.find(fmt::format("{}{}", kLossSum, i + 1));
    if (sum != checkpoint->figures.end()) loss_sums_[i] = sum->second;
  }
  if (plateau_) plateau_->restore(checkpoint->figures);
}

/// The single numbers that a resumed run continues with.
std::map<std::string, double> Trainer::figures() const {
  std::map<std::string, double> figures;
  for (const auto& learner : learners_) figures.merge(learner->figures());
  for (std::size_t i = 0; i < loss_sums_.size(); ++i) {
    figures[fmt::format("{}{}", kLossSum, i + 1)] = loss_sums_[i];
  }
  if (plateau_) figures.merge(plateau_->figures());
  return figures;
}

void Trainer::save_checkpoint() {
  if (communicator_.rank() != 0) return;
  const auto& spec = request_.spec;
  std::vector<NamedTensor> model, optimizer;
  for (const auto& learner : learners_) {
    for (NamedTensor& tensor : learner->model_tensors()) model.push_back(std::move(tensor));
    for (NamedTensor& tensor : learner->optimizer_tensors()) optimizer.push_back(std::move(tensor));
  }
  writer_->write({.identity = {spec.recipe, spec.parameters, spec.seed, spec.global_batch(),
                               spec.optimizer.value()},
                  .position = position_,
                  .model = std::move(model),
                  .optimizer = std::move(optimizer),
                  .figures = figures()});
}

void Trainer::report_checkpoints() {
  if (!writer_) return;
  for (const auto& written : writer_->take_written()) emit_(written);
}

}  // namespace lockstep::train
