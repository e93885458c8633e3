#include "lockstep/train/validation.h"

#include "lockstep/train/classification.h"

namespace lockstep::train {

Validation::Validation(std::shared_ptr<const data::Dataset> dataset,
                       std::shared_ptr<const data::Transform> transform, std::int64_t batch,
                       int loader_threads, comm::Communicator& communicator)
    : transform_(transform),
      loader_(dataset, transform,
              {.examples = dataset->size(),
               .batch = batch,
               .rank = communicator.rank(),
               .world = communicator.size(),
               .shuffle = false},
              {.threads = loader_threads}),
      communicator_(communicator) {}

ValidationResult Validation::run(nets::Network& network, Device& device) {
  struct Sums {
    double loss = 0;
    double correct = 0;
    double examples = 0;
  } sums;
  torch::NoGradGuard no_grad;
  network.eval();
  loader_.start_epoch(1);
  while (auto batch = loader_.next()) {
    if (batch->count() == 0) continue;
    const auto scores = network.forward(
        device.take(images_of(*batch, transform_->output_shape(), transform_->output_order())));
    const auto loss = torch::nn::functional::cross_entropy(
        scores, device.take(labels_of(*batch)),
        torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
    sums.loss += loss.item<double>();
    sums.correct += static_cast<double>(count_correct(scores, *batch));
    sums.examples += static_cast<double>(batch->count());
  }
  network.train();
  Sums total;
  for (const Sums& rank : communicator_.gather_all(sums)) {
    total.loss += rank.loss;
    total.correct += rank.correct;
    total.examples += rank.examples;
  }
  return {total.loss / total.examples, total.correct / total.examples};
}

}  // namespace lockstep::train
