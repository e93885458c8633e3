#include "lockstep/train/sync/gradient_sync.h"

#include <gtest/gtest.h>

#include "counters.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/train/sync/flat_parameters.h"

namespace lockstep::train {
namespace {

using device_double::Counters;

/// Launches of a backward whose gradients become views of the flat buffer, as in the library.
std::int64_t launches_of_backward(int layers, double scale) {
  const torch::Device gpu(torch::kCUDA, 0);
  torch::nn::Sequential network;
  for (int i = 0; i < layers; ++i) network->push_back(torch::nn::Linear(4, 4));
  network->to(gpu);
  const auto communicator = comm::make_single();
  const SystemClock clock;
  const auto parameters = trainable_parameters(*network);
  const auto plan = comm::plan_buckets(element_counts(parameters), Bytes{1 << 20}, 2);
  GradientSync sync(parameters, plan, *communicator, {.views = true, .scale = scale}, clock);
  const auto loss = network->forward(torch::ones({2, 4}, gpu)).sum();
  sync.begin_step();
  const std::int64_t before = Counters::instance().operations;
  loss.backward();
  const std::int64_t launches = Counters::instance().operations - before;
  sync.finish();
  EXPECT_EQ(parameters.back().grad().sum().item<float>(), 4 * 2 * static_cast<float>(scale));
  return launches;
}

TEST(GradientSync, ScalesAGradientOnItsWayIntoItsSlotInOneLaunch) {
  // A copy is no launch of the double; a scaled copy is one, for weight and bias each.
  const auto more = [](double scale) {
    return launches_of_backward(12, scale) - launches_of_backward(2, scale);
  };
  EXPECT_EQ(more(0.5) - more(1), 10 * 2);
}

}  // namespace
}  // namespace lockstep::train
