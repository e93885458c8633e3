// dist_mnist_gloo FOLDER [EPOCHS]: the peer of dist_mnist as a program without MPI writes it, over
// the group that every LibTorch has: all sums are started and then waited for, as in the PyTorch
// project's example. Under mpirun, which only starts it.
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "mnist_peer.h"

int main(int argc, char** argv) {
  const int rank = std::atoi(std::getenv("OMPI_COMM_WORLD_RANK"));
  const int ranks = std::atoi(std::getenv("OMPI_COMM_WORLD_SIZE"));
  const std::string meeting = std::string(argv[1]) + "/store-" + std::getenv("PMIX_NAMESPACE");
  auto settings = c10d::ProcessGroupGloo::Options::create();
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  settings->devices = {interface != nullptr
                           ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                           : c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  const auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::FileStore>(meeting, ranks), rank, ranks, settings);
  train_peer(argv[1], argc > 2 ? std::atoi(argv[2]) : 10, rank, ranks,
             [&](const std::vector<torch::Tensor>& parameters) {
               std::vector<c10::intrusive_ptr<c10d::Work>> sums;
               for (const auto& parameter : parameters) {
                 std::vector<torch::Tensor> gradient{parameter.mutable_grad()};
                 sums.push_back(group->allreduce(gradient));
               }
               for (auto& sum : sums) sum->wait();
             });
}
