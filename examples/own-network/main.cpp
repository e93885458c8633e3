// Data-parallel training of a network of your own, without the lockstep program: each rank is a
// process, and GradientSync sums their gradients while backward runs.
#include <sys/mman.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/train/optim/optimizer.h"
#include "lockstep/train/sync/flat_parameters.h"
#include "lockstep/train/sync/gradient_sync.h"

using namespace lockstep;

constexpr int kRanks = 2;
constexpr int kExamplesPerRank = 64;
constexpr int kSteps = 200;

/// y = sin(3x) to be learnt; every rank draws its own examples.
torch::Tensor targets_of(const torch::Tensor& x) {
  return torch::sin(3 * x);
}

void run_rank(int rank, int shared_memory) {
  torch::set_num_threads(1);
  torch::manual_seed(1);  // the same initial parameters everywhere
  torch::nn::Sequential network(torch::nn::Linear(1, 32), torch::nn::Tanh(),
                                torch::nn::Linear(32, 1));

  const auto communicator = comm::make_shared_memory({.rank = rank, .size = kRanks}, shared_memory);
  const SystemClock clock;
  const auto parameters = train::trainable_parameters(*network);
  const auto plan = comm::plan_buckets(train::element_counts(parameters), Bytes{1'000'000});
  train::FlatParameters flat(parameters, plan);
  train::GradientSync sync(parameters, plan, *communicator, {}, clock);
  train::Optimizer optimizer(
      {.momentum = 0.9}, {.groups = {{0, plan.tail_begin}}, .count = plan.tail_begin}, torch::kCPU);

  torch::manual_seed(100 + rank);  // from here on, each rank its own data
  for (int step = 1; step <= kSteps; ++step) {
    const auto x = torch::rand({kExamplesPerRank, 1}) * 2 - 1;
    sync.begin_step();
    // Divided by the number of ranks, because gradients are summed.
    auto loss = torch::mse_loss(network->forward(x), targets_of(x)) / kRanks;
    loss.backward();
    sync.finish();
    optimizer.step(flat.flat(), sync.flat(), 0.1);
    const auto losses = communicator->gather_all(loss.item<float>());
    if (rank == 0 && step % 50 == 0) {
      std::printf("step %d: loss %s\n", step,
                  losses[0] + losses[1] < 0.01F ? "below 0.01" : "still high");
    }
  }
  const auto first = communicator->gather_all(flat.values()[0]);
  if (rank == 0) std::printf("ranks agree: %s\n", first[0] == first[1] ? "yes" : "no");
}

int main() {
  const int shared_memory = ::memfd_create("own-network", 0);
  for (int rank = 1; rank < kRanks; ++rank) {
    if (::fork() == 0) {
      run_rank(rank, shared_memory);
      return 0;
    }
  }
  try {
    run_rank(0, shared_memory);
  } catch (const Error& error) {
    std::fputs(format_error(error).c_str(), stderr);
    return exit_code(error.kind());
  }
  while (::wait(nullptr) > 0) {
  }
}
