// dist_mnist_mpi FOLDER [EPOCHS]: the peer of dist_mnist over MPI, one blocking sum per parameter.
// The PyTorch project's example itself needs c10d's MPI group, which Debian's LibTorch and the
// wheels are built without; calling MPI directly saves the hand-over to that group's thread.
#include <mpi.h>

#include "mnist_peer.h"

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  train_peer(argv[1], argc > 2 ? std::atoi(argv[2]) : 10, rank, ranks,
             [](const std::vector<torch::Tensor>& parameters) {
               for (const auto& parameter : parameters) {
                 auto& gradient = parameter.mutable_grad();
                 MPI_Allreduce(MPI_IN_PLACE, gradient.data_ptr<float>(),
                               static_cast<int>(gradient.numel()), MPI_FLOAT, MPI_SUM,
                               MPI_COMM_WORLD);
               }
             });
  MPI_Finalize();
}
