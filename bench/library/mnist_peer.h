// The peers of dist_mnist: like the C++ example of the PyTorch project they sum each parameter's
// gradient over ranks when backward is over, divide and step.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "mnist_task.h"

/// `sum` replaces the gradients of the parameters by their sums over ranks, and waits for that.
template <class Sum>
void train_peer(const char* folder, int epochs, int rank, int ranks, const Sum& sum) {
  auto data = mnist(folder, MNIST::Mode::kTrain);
  const std::size_t examples = *data.size();
  auto loader = torch::data::make_data_loader(
      std::move(data),
      torch::data::samplers::DistributedRandomSampler(examples, static_cast<std::size_t>(ranks),
                                                      static_cast<std::size_t>(rank), false),
      64 / static_cast<std::size_t>(ranks));
  torch::manual_seed(0);
  auto model = std::make_shared<Model>();
  torch::optim::SGD optimizer(model->parameters(), 1e-2);

  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto began = std::chrono::steady_clock::now();
    double right = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const auto output = model->forward(batch.data);
      torch::nll_loss(output, batch.target).backward();
      sum(model->parameters());
      for (auto& parameter : model->parameters()) parameter.mutable_grad().div_(ranks);
      optimizer.step();
      right += output.argmax(1).eq(batch.target).sum().item<double>();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (rank == 0) {
      std::printf("epoch %d: %f s, accuracy %f\n", epoch, took.count(),
                  right * ranks / static_cast<double>(examples));
    }
  }
}
