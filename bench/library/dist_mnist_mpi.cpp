// dist_mnist_mpi FOLDER [EPOCHS]: the peer of dist_mnist. Like the C++ example of the PyTorch
// project it sums each parameter's gradient over MPI when backward is over, waits, divides and
// steps. That example itself needs c10d's MPI group, which Debian's LibTorch and the wheels are
// built without; calling MPI directly saves the hand-over to that group's thread.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "mnist_task.h"

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  auto data = mnist(argv[1], MNIST::Mode::kTrain);
  const std::size_t examples = *data.size();
  auto loader = torch::data::make_data_loader(
      std::move(data),
      torch::data::samplers::DistributedRandomSampler(examples, static_cast<std::size_t>(ranks),
                                                      static_cast<std::size_t>(rank), false),
      64 / static_cast<std::size_t>(ranks));
  torch::manual_seed(0);
  auto model = std::make_shared<Model>();
  torch::optim::SGD optimizer(model->parameters(), 1e-2);

  for (int epoch = 1; epoch <= (argc > 2 ? std::atoi(argv[2]) : 10); ++epoch) {
    const auto began = std::chrono::steady_clock::now();
    double right = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const auto output = model->forward(batch.data);
      torch::nll_loss(output, batch.target).backward();
      for (auto& parameter : model->parameters()) {
        auto& gradient = parameter.mutable_grad();
        MPI_Allreduce(MPI_IN_PLACE, gradient.data_ptr<float>(), static_cast<int>(gradient.numel()),
                      MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        gradient.div_(ranks);
      }
      optimizer.step();
      right += output.argmax(1).eq(batch.target).sum().item<double>();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (rank == 0) {
      std::printf("epoch %d: %f s, accuracy %f\n", epoch, took.count(),
                  right * ranks / static_cast<double>(examples));
    }
  }
  MPI_Finalize();
}
