#include "lockstep/train/recipes/supervised_task.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"

namespace lockstep::train {

Loss loss_from_name(std::string_view name) {
  if (name == "cross_entropy") return Loss::kCrossEntropy;
  if (name == "mse") return Loss::kMse;
  throw Error(ErrorKind::kUsage, fmt::format("unknown loss '{}'", name),
              "choose cross_entropy or mse");
}

SupervisedTask::SupervisedTask(std::shared_ptr<nets::Network> network, Loss loss, int classes)
    : players_{{"", std::move(network), ""}}, loss_(loss), classes_(classes) {}

torch::Tensor SupervisedTask::loss(std::size_t, const Minibatch& batch, Tally& correct) {
  const auto outputs = players_[0].network->forward(batch.images);
  if (loss_ == Loss::kMse) {
    if (outputs.numel() != batch.targets.numel()) {
      throw Error(ErrorKind::kData,
                  fmt::format("the network returns {} values for {} targets", outputs.numel(),
                              batch.targets.numel()),
                  "it must return one prediction per target and image");
    }
    return torch::mse_loss(outputs.view(batch.targets.sizes()), batch.targets);
  }
  if (outputs.dim() != 2 || outputs.size(0) != batch.count || outputs.size(1) < classes_) {
    throw Error(ErrorKind::kData,
                fmt::format("the network returns {} for {} images of {} classes",
                            c10::str(outputs.sizes()), batch.count, classes_),
                "it must return one row of scores per image, with one score per class");
  }
  count_correct(outputs, batch.labels, correct);
  return torch::nn::functional::cross_entropy(outputs, batch.labels);
}

void SupervisedTask::evaluate(const Minibatch& batch, EvaluationSums& sums) {
  const auto examples = static_cast<double>(batch.count);
  sums.loss.add(loss(0, batch, sums.correct), examples);
  sums.examples += examples;
}

void SupervisedTask::set_slow_part(std::string fast, double rate) {
  fast_ = std::move(fast);
  slow_rate_ = rate;
}

double SupervisedTask::rate_of(const std::string& parameter) const {
  return parameter.starts_with(fast_) ? 1 : slow_rate_;
}

void SupervisedTask::finish_epoch(int epoch) {
  if (after_epoch_) after_epoch_(epoch);
}

}  // namespace lockstep::train
