#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>

#include "lockstep/base/error.h"
#include "lockstep/train/sync/device.h"
#include "lockstep/train/sync/page_lock.h"
#include "lockstep/train/sync/readback.h"
#include "ordering.h"

namespace lockstep::train {
namespace {

using device_double::Ordering;

const c10::impl::VirtualGuardImpl& runtime() {
  static const c10::impl::VirtualGuardImpl guard(torch::kCUDA);
  return guard;
}

c10::Stream other_stream() {
  return runtime().getStreamFromGlobalPool(torch::Device(torch::kCUDA, 0));
}

torch::Tensor pinned(const torch::Tensor& values) {
  auto copy = torch::empty(values.sizes(), values.options().pinned_memory(true));
  return copy.copy_(values);
}

class DeviceDouble : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("DEVICE_DOUBLE_COUNT_ONLY", "1", 1); }

  std::int64_t new_reports() {
    const std::int64_t all = Ordering::instance().reports();
    return all - std::exchange(before_, all);
  }

 private:
  std::int64_t before_ = Ordering::instance().reports();
};

TEST_F(DeviceDouble, TrainsANetworkAsACpuDoes) {
  const auto losses = [](torch::Device device) {
    torch::manual_seed(1);
    torch::nn::Sequential net(torch::nn::Conv2d(1, 4, 3), torch::nn::BatchNorm2d(4),
                              torch::nn::ReLU(), torch::nn::Flatten(), torch::nn::Linear(144, 3));
    net->to(device);
    const auto input = torch::randn({8, 1, 8, 8}).to(device);
    const auto labels = torch::arange(8).remainder(3).to(device);
    torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    std::vector<double> values;
    for (int step = 0; step < 5; ++step) {
      sgd.zero_grad();
      auto loss = torch::cross_entropy_loss(net->forward(input), labels);
      loss.backward();
      sgd.step();
      values.push_back(loss.item<double>());
    }
    return values;
  };
  EXPECT_EQ(losses(torch::kCPU), losses(torch::Device(torch::kCUDA, 0)));
  EXPECT_EQ(new_reports(), 0);
}

TEST_F(DeviceDouble, MemoryOfTheDeviceCannotBeReadByTheHost) {
  const auto values = torch::ones({4}, torch::kCUDA);
  EXPECT_DEATH(std::printf("%f", static_cast<double>(values.data_ptr<float>()[0])), "");
  EXPECT_EQ(values.sum().item<float>(), 4);
}

TEST_F(DeviceDouble, ACopyThatNobodyWaitsForIsReportedAndHasNotArrived) {
  const auto host = pinned(torch::ones({4}));
  torch::Tensor arrived;
  {
    const c10::StreamGuard on_copy_stream(other_stream());
    arrived = host.to(torch::kCUDA, /*non_blocking=*/true);
  }
  EXPECT_TRUE(std::isnan(arrived.sum().item<float>()));
  EXPECT_EQ(new_reports(), 1);
}

TEST_F(DeviceDouble, ACopyThatIsWaitedForHasArrived) {
  const auto host = pinned(torch::ones({4}));
  const c10::Stream copying = other_stream();
  torch::Tensor arrived;
  c10::Event copied(torch::kCUDA);
  {
    const c10::StreamGuard on_copy_stream(copying);
    arrived = host.to(torch::kCUDA, /*non_blocking=*/true);
    copied.record(copying);
  }
  copied.block(runtime().getStream(arrived.device()));
  EXPECT_EQ(arrived.sum().item<float>(), 4);
  EXPECT_EQ(new_reports(), 0);
}

TEST_F(DeviceDouble, MemoryGivenBackWhileAnotherStreamUsesItIsReported) {
  const c10::Stream other = other_stream();
  auto used = torch::ones({1024}, torch::kCUDA);
  c10::Event written(torch::kCUDA);
  written.record(runtime().getStream(used.device()));
  written.block(other);
  {
    const c10::StreamGuard guard(other);
    used.mul_(2);
  }
  used.reset();
  EXPECT_EQ(new_reports(), 1);
}

TEST(Device, BatchesArriveWithoutAWaitOfTheHost) {
  ::setenv("DEVICE_DOUBLE_COUNT_ONLY", "1", 1);
  const std::int64_t before = Ordering::instance().reports();
  Device device = Device::open("cuda", 1, false);
  EXPECT_EQ(device.torch(), torch::Device(torch::kCUDA, 1));
  auto host = pinned(torch::zeros({16, 3}));
  for (int batch = 1; batch <= 10; ++batch) {
    host.fill_(batch);
    const std::int64_t waits = Ordering::instance().waits();
    const auto shipment = device.ship({host});
    device.receive(shipment);
    const auto sum = shipment.tensors[0].sum();
    EXPECT_EQ(Ordering::instance().waits(), waits);
    EXPECT_EQ(sum.item<float>(), 48.0F * static_cast<float>(batch));
    EXPECT_TRUE(Device::left(shipment));
  }
  EXPECT_EQ(Ordering::instance().reports(), before);
}

TEST(Device, ABatchThatIsNotReceivedIsReported) {
  ::setenv("DEVICE_DOUBLE_COUNT_ONLY", "1", 1);
  const std::int64_t before = Ordering::instance().reports();
  Device device = Device::open("cuda", 0, false);
  const auto host = pinned(torch::ones({4}));
  const auto shipment = device.ship({host});
  EXPECT_TRUE(std::isnan(shipment.tensors[0].sum().item<float>()));
  EXPECT_GT(Ordering::instance().reports(), before);
  Device::wait_until_left(shipment);
}

TEST(Device, WaitsUntilTheDeviceIsDone) {
  Device device = Device::open("cuda", 0, false);
  const auto values = torch::ones({8}, device.torch()).mul_(2);
  EXPECT_FALSE(runtime().getStream(device.torch()).query());
  device.wait();
  EXPECT_TRUE(runtime().getStream(device.torch()).query());
}

TEST(Readback, HasWhatTheDeviceComputed) {
  const auto values = torch::full({3}, 2.0F, torch::kCUDA);
  Readback results(3, values.device());
  results.queue(0, values);
  results.close();  // nothing is queued after it, so that the copy is as late as can be
  for (const float value : results.wait()) EXPECT_EQ(value, 2);
}

TEST(PageLock, MakesMemoryOfOthersPinnedWhileItLives) {
  std::vector<float> memory(1024);
  const auto view = torch::from_blob(memory.data(), {1024});
  {
    PageLock lock(memory, torch::kCUDA);
    EXPECT_TRUE(lock.locked());
    EXPECT_TRUE(view.is_pinned(torch::kCUDA));
    PageLock moved;
    moved = std::move(lock);
    EXPECT_FALSE(lock.locked());
    EXPECT_TRUE(view.is_pinned(torch::kCUDA));
  }
  EXPECT_FALSE(view.is_pinned(torch::kCUDA));
  EXPECT_FALSE(PageLock(memory, torch::kCPU).locked());
}

extern "C" int cudaGetLastError();

TEST(PageLock, WhatCannotBeLockedIsUsedAsItIsAndLeavesNoErrorBehind) {
  ::setenv("DEVICE_DOUBLE_UNPINNABLE", "4096", 1);
  std::vector<float> memory(1024);
  EXPECT_FALSE(PageLock(memory, torch::kCUDA).locked());
  EXPECT_EQ(cudaGetLastError(), 0) << "LibTorch would blame its next kernel";
  ::unsetenv("DEVICE_DOUBLE_UNPINNABLE");
}

TEST(Device, SaysWhyThereIsNoGpuAndDoesNotBlameLibTorch) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  try {
    Device::require_gpu(0);
    ADD_FAILURE() << "no GPU is visible";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--device cuda, but CUDA finds no GPU on this host (no CUDA-capable device is "
                 "detected)");
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(Device, RefusesAGpuThatIsNotVisible) {
  ::setenv("CUDA_VISIBLE_DEVICES", "2,3", 1);
  EXPECT_EQ(Device::visible_gpus(), 2);
  EXPECT_EQ(Device::pci_id_of(1), "0000:04:00.0");
  EXPECT_THROW(Device::open("cuda", 2, false), Error);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace lockstep::train
