// What becomes of steps over NCCL in which a stream does not wait for another.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "lockstep/comm/backends/c10d/nccl.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"
#include "lockstep/train/optim/optimizer.h"
#include "lockstep/train/sync/device.h"
#include "lockstep/train/sync/flat_parameters.h"
#include "lockstep/train/sync/gradient_sync.h"
#include "ordering.h"

namespace lockstep::train {
namespace {

using device_double::Ordering;

constexpr int kRanks = 2, kSteps = 3;

/// One network on a GPU, trained as the trainer does, in one bucket: a wait for the last sum is one
/// for those before it.
class Steps {
 public:
  Steps(comm::Communicator& communicator, int gpu)
      : device_(Device::open("cuda", gpu, false)), network_(network_on(device_.torch())) {
    const auto parameters = trainable_parameters(*network_);
    const auto plan = comm::plan_buckets(element_counts(parameters), Bytes{1 << 20}, 2);
    flat_.emplace(parameters, plan);
    SyncOptions options;
    options.norm_slot = 0;
    options.overflow_slot = 1;
    sync_.emplace(parameters, plan, communicator, options, clock_);
    ParameterLayout layout{.groups = {{0, plan.tail_begin, 1}}, .tensors = {}};
    layout.count = plan.tail_begin;
    optimizer_.emplace(OptimizerOptions{}, layout, device_.torch());
  }

  /// Its own squared norm and whether it overflowed, over all ranks.
  std::span<const float> step(float value) {
    host_.fill_(value);
    const auto shipment = device_.ship({host_});
    device_.receive(shipment);
    sync_->begin_step();
    network_->forward(shipment.tensors[0]).square().mean().backward();
    sync_->hand_over_rest();
    sync_->queue_sums();
    sync_->queue_results(/*sum_squares=*/true);
    optimizer_->step(flat_->flat(), sync_->flat().narrow(0, 0, flat_->flat().numel()), 0.01);
    sync_->read_results();
    return sync_->tail();
  }

 private:
  static torch::nn::Sequential network_on(torch::Device device) {
    torch::nn::Sequential network(torch::nn::Linear(4, 4), torch::nn::Tanh(),
                                  torch::nn::Linear(4, 4));
    network->to(device);
    return network;
  }

  SystemClock clock_;
  Device device_;
  torch::nn::Sequential network_;
  std::optional<FlatParameters> flat_;
  std::optional<GradientSync> sync_;
  std::optional<Optimizer> optimizer_;
  torch::Tensor host_ = torch::zeros({2, 4}, torch::TensorOptions().pinned_memory(true));
};

struct Seen {
  std::int64_t waits_of_streams = 0;
  std::int64_t reports = 0;
};

/// Steps of all ranks of which one wait is left out, unless 0.
Seen steps_without(std::int64_t left_out) {
  Seen seen;
  std::barrier all(kRanks);
  Ordering& ordering = Ordering::instance();
  comm::on_all_ranks(kRanks, comm::fresh_job(), [&](comm::Session& session) {
    const int rank = session.options().place.rank;
    const auto nccl = comm::make_nccl(session.context(), rank);
    Steps steps(*nccl, rank);
    all.arrive_and_wait();
    if (rank == 0) {
      seen = {ordering.blocks(), ordering.reports()};
      ordering.leave_out(left_out);
    }
    all.arrive_and_wait();
    for (int step = 0; step < kSteps; ++step) steps.step(1);
    all.arrive_and_wait();
    if (rank == 0) {
      ordering.leave_out(0);
      seen = {ordering.blocks() - seen.waits_of_streams, ordering.reports() - seen.reports};
    }
  });
  return seen;
}

TEST(NcclWaits, EachWaitOfAStreamIsMissedWhenItIsLeftOut) {
  ::setenv("DEVICE_DOUBLE_COUNT_ONLY", "1", 1);
  const Seen whole = steps_without(0);
  EXPECT_EQ(whole.reports, 0);
  // For the batch, and before and after the sum.
  EXPECT_EQ(whole.waits_of_streams, kRanks * kSteps * 3);
  for (std::int64_t wait = 1; wait <= whole.waits_of_streams; ++wait) {
    EXPECT_GT(steps_without(wait).reports, 0) << "wait " << wait;
  }
  ::unsetenv("DEVICE_DOUBLE_COUNT_ONLY");
}

TEST(NcclWaits, AnOverflowOnOneGpuShowsOnAll) {
  comm::on_all_ranks(kRanks, comm::fresh_job(), [](comm::Session& session) {
    const int rank = session.options().place.rank;
    const auto nccl = comm::make_nccl(session.context(), rank);
    Steps steps(*nccl, rank);
    const auto good = steps.step(1);
    EXPECT_TRUE(std::isfinite(good[0]));
    EXPECT_EQ(good[1], 0);
    EXPECT_EQ(steps.step(rank == 1 ? std::numeric_limits<float>::infinity() : 1)[1], 1);
  });
}

}  // namespace
}  // namespace lockstep::train
