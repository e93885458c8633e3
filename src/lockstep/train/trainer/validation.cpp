#include "lockstep/train/trainer/validation.h"

#include <limits>

namespace lockstep::train {

Validation::Validation(std::shared_ptr<const data::Dataset> dataset,
                       std::shared_ptr<const data::Transform> transform, std::int64_t batch,
                       int loader_threads, comm::Communicator& communicator)
    : transform_(transform),
      targets_(dataset->info().targets),
      loader_(dataset, transform,
              {.examples = dataset->size(),
               .batch = batch,
               .rank = communicator.rank(),
               .world = communicator.size(),
               .shuffle = false},
              {.threads = loader_threads}),
      communicator_(communicator) {}

ValidationResult Validation::run(Task& task, Device& device) {
  EvaluationSums sums;
  torch::NoGradGuard no_grad;
  for (const Player& player : task.players()) player.network->eval();
  loader_.start_epoch(1);
  while (auto batch = loader_.next()) {
    if (batch->count() == 0) continue;
    task.evaluate(minibatch_of(*batch, *transform_, targets_, 0, device), sums);
  }
  for (const Player& player : task.players()) player.network->train();
  EvaluationSums total;
  for (const EvaluationSums& rank : communicator_.gather_all(sums)) {
    total.loss += rank.loss;
    total.correct += rank.correct;
    total.examples += rank.examples;
  }
  return {total.loss / total.examples, task.has_accuracy()
                                           ? total.correct / total.examples
                                           : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace lockstep::train
