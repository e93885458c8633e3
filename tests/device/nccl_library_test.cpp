// The library over NCCL, with a fake in NCCL's place: ranks are threads, each with a GPU of the
// double.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "counters.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"
#include "lockstep/data_parallel.h"
#include "lockstep/library/job_state.h"
#include "lockstep/library/replica.h"
#include "lockstep/optim.h"
#include "lockstep/sync_batch_norm.h"
#include "ordering.h"

namespace lockstep::library {
namespace {

using device_double::Ordering;

/// Ranks of one job, each with a GPU of its own.
void on_gpus(int ranks, const std::function<void(Job&)>& body) {
  const std::string job = std::to_string(std::hash<std::string>()(comm::fresh_job()));
  ::setenv("LOCKSTEP_SECRET", job.c_str(), 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      comm::Placement place;
      place.rank = place.local_rank = rank;
      place.size = place.local_size = ranks;
      place.starter = "torchrun";
      place.rendezvous_host = "127.0.0.1";
      place.job = job;
      JoinOptions options;
      options.timeout = std::chrono::seconds(30);
      options.backend = "nccl";
      try {
        Job one(std::make_shared<JobState>(place, options));
        body(one);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

/// With norms whose averages are of an odd number of bytes, and a flag.
torch::nn::Sequential make_network() {
  torch::nn::Sequential net(torch::nn::Linear(8, 6), torch::nn::BatchNorm1d(6), torch::nn::Tanh(),
                            torch::nn::Linear(6, 3));
  const torch::NoGradGuard no_grad;
  int index = 0;
  for (auto& parameter : net->parameters()) {
    parameter.copy_(
        torch::arange(parameter.numel()).mul(0.7).add(index++).sin().reshape(parameter.sizes()));
  }
  net[0]->register_buffer("flag", torch::tensor(true));
  return net;
}

torch::Tensor examples(std::int64_t first, std::int64_t count) {
  return torch::arange(8 * first, 8 * (first + count)).mul(0.37).sin().reshape({count, 8});
}

torch::Tensor loss_of(const torch::Tensor& output) {
  return torch::log_softmax(output, 1).select(1, 0).neg().mean();
}

TEST(NcclLibrary, TwoGpusEndAsOneNetworkThatSeesAllExamples) {
  const std::int64_t reports = Ordering::instance().reports();
  on_gpus(2, [](Job& job) {
    auto whole = make_network();
    auto net = convert_sync_batch_norm(make_network(), job);
    net->to(job.device());
    DataParallel ddp(net, job, {.bucket_bytes = 200});
    EXPECT_EQ(job.backend(), "nccl");
    torch::optim::SGD optimizer(net->parameters(), 0.2), reference(whole->parameters(), 0.2);
    for (int step = 0; step < 10; ++step) {
      optimizer.zero_grad();
      loss_of(ddp(examples(10 * step + 5 * job.rank(), 5).to(job.device()))).backward();
      optimizer.step();
      reference.zero_grad();
      loss_of(whole->forward(examples(10 * step, 10))).backward();
      reference.step();
    }
    const auto expect_close = [](const torch::Tensor& ours, const torch::Tensor& expected) {
      // The same sums in another order, in ten steps.
      EXPECT_TRUE(torch::allclose(ours.cpu(), expected, 1e-5, 1e-6));
    };
    for (std::size_t i = 0; i < net->parameters().size(); ++i) {
      expect_close(net->parameters()[i], whole->parameters()[i]);
    }
    EXPECT_TRUE(torch::equal(job.gather(net->parameters()[0])[0], net->parameters()[0]));
  });
  EXPECT_EQ(Ordering::instance().reports(), reports);
}

TEST(NcclLibrary, AllRanksGetTheBuffersOfRank0WithoutAWait) {
  on_gpus(2, [](Job& job) {
    auto net = make_network();
    net->to(job.device());
    DataParallel ddp(net, job);
    loss_of(ddp(examples(5 * job.rank(), 5).to(job.device()))).backward();
    for (const auto& buffer : net->buffers()) {
      const auto all = job.gather(buffer);
      EXPECT_TRUE(torch::equal(all[0], all[1]));
    }
    EXPECT_GT(net[1]->buffers()[0].abs().max().item<float>(), 0);
  });
}

/// The host waits of all ranks in that many steps.
template <class Optimizer>
std::int64_t waits_in(int steps) {
  std::int64_t waits = 0;
  on_gpus(2, [&](Job& job) {
    auto net = make_network();
    net->to(job.device());
    DataParallel ddp(net, job);
    Optimizer optimizer(net->parameters(), 0.1);
    const auto input = examples(5 * job.rank(), 5).to(job.device());
    job.barrier();
    const std::int64_t before = Ordering::instance().waits();
    for (int step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      loss_of(ddp(input)).backward();
      optimizer.step();
    }
    job.barrier();
    if (job.rank() == 0) waits = Ordering::instance().waits() - before;
  });
  return waits;
}

TEST(NcclLibrary, HostsWaitTwicePerStepAtMost) {
  // For the sum that is confirmed and for the results that follow it, on two ranks; and a few for
  // the first step, which changes the buckets.
  EXPECT_LE(waits_in<torch::optim::SGD>(60), 2 * 2 * 60 + 20);
  EXPECT_LE(waits_in<optim::Adam>(60), 2 * 2 * 60 + 20);
}

TEST(Replica, BytesPassThroughFloatsOfADeviceExactly) {
  const torch::Device gpu(torch::kCUDA, 0);
  const std::vector<torch::Tensor> given{torch::randn({5}).to(gpu), torch::tensor(true).to(gpu),
                                         torch::randn({3, 2}).to(torch::kDouble).to(gpu),
                                         torch::tensor(std::int64_t{-7}).to(gpu)};
  const auto count = static_cast<std::int64_t>(floats_for(given));
  const auto floats = torch::zeros({count}, gpu);
  const std::vector<torch::Tensor> taken{torch::zeros_like(given[0]), torch::zeros_like(given[1]),
                                         torch::zeros_like(given[2]), torch::zeros_like(given[3])};
  const std::int64_t waits = Ordering::instance().waits();
  encode_bytes(given, floats);
  decode_bytes(floats, taken);
  EXPECT_EQ(Ordering::instance().waits(), waits);
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_TRUE(torch::equal(given[i], taken[i]));
  // What a host reads of it, and what it writes.
  std::vector<float> on_host(static_cast<std::size_t>(count));
  encode_bytes(given, on_host);
  EXPECT_TRUE(torch::equal(floats.cpu(), torch::tensor(on_host)));
  for (const auto& tensor : taken) tensor.zero_();
  decode_bytes(on_host, taken);
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_TRUE(torch::equal(given[i], taken[i]));
}

}  // namespace
}  // namespace lockstep::library
