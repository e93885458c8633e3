#include "lockstep/train/trainer/validation.h"

#include <limits>

namespace lockstep::train {
namespace {

/// Longest wait for a batch.
constexpr Seconds kInputTimeout{60};

}  // namespace

Validation::Validation(std::shared_ptr<const data::Dataset> dataset,
                       std::shared_ptr<const data::Transform> transform, std::int64_t batch,
                       int loader_threads, comm::Communicator& communicator, const Clock& clock,
                       Device& device)
    : device_(device),
      feed_(dataset, transform,
            {.examples = dataset->size(),
             .batch = batch,
             .rank = communicator.rank(),
             .world = communicator.size(),
             .shuffle = false},
            {.threads = loader_threads}, device, clock, kInputTimeout),
      communicator_(communicator) {}

ValidationResult Validation::run(Task& task) {
  EvaluationSums sums;
  torch::NoGradGuard no_grad;
  for (const Player& player : task.players()) player.network->eval();
  feed_.start_epoch(1);
  while (auto batch = feed_.next(0)) {
    if (batch->count > 0) {
      const Device::MixedPrecision precision(device_);
      task.evaluate(*batch, sums);
    }
    *batch = {};
    feed_.release();
    feed_.prefetch();
  }
  for (const Player& player : task.players()) player.network->train();
  struct Sums {
    double loss, correct, examples;
  } total{};
  const Sums mine{sums.loss.read(), sums.correct.read(), sums.examples};
  for (const Sums& rank : communicator_.gather_all(mine)) {
    total.loss += rank.loss;
    total.correct += rank.correct;
    total.examples += rank.examples;
  }
  return {total.loss / total.examples, task.has_accuracy()
                                           ? total.correct / total.examples
                                           : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace lockstep::train
