// dist_mnist FOLDER [EPOCHS]: the PyTorch project's C++ example of distributed training with the
// library. FOLDER has the unpacked files of MNIST or Fashion-MNIST.
#include <lockstep/lockstep.h>

#include <chrono>

#include "mnist_task.h"

int main(int argc, char** argv) {
  auto job = lockstep::join(argc, argv);
  auto data = mnist(argv[1], MNIST::Mode::kTrain);
  const std::size_t examples = *data.size();
  auto loader = torch::data::make_data_loader(std::move(data), job.sampler(examples),
                                              64 / static_cast<std::size_t>(job.size()));
  torch::manual_seed(0);
  auto model = std::make_shared<Model>();
  lockstep::DataParallel ddp(model, job);
  torch::optim::SGD optimizer(model->parameters(), 1e-2);

  for (int epoch = 1; epoch <= (argc > 2 ? std::atoi(argv[2]) : 10); ++epoch) {
    const auto began = std::chrono::steady_clock::now();
    double right = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const auto output = ddp(batch.data);
      torch::nll_loss(output, batch.target).backward();
      optimizer.step();
      right += output.argmax(1).eq(batch.target).sum().item<double>();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    job.print("epoch " + std::to_string(epoch) + ": " + std::to_string(took.count()) +
              " s, accuracy " + std::to_string(job.sum(right) / static_cast<double>(examples)));
  }

  if (!job.is_main()) return 0;
  model->eval();
  const torch::NoGradGuard no_grad;
  auto tests = torch::data::make_data_loader(mnist(argv[1], MNIST::Mode::kTest), 10'000);
  for (auto& batch : *tests) {
    const auto output = model->forward(batch.data);
    job.print(
        "test: loss " + std::to_string(torch::nll_loss(output, batch.target).item<double>()) +
        ", accuracy " +
        std::to_string(output.argmax(1).eq(batch.target).to(torch::kFloat).mean().item<double>()));
  }
}
