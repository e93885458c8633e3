#include "lockstep/train/sync/device_settings.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep::train {
namespace {

/// Settings of the process are put back, and the variables that libraries of the GPU read.
class DeviceSettings : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override {
    clear();
    at::Context& context = at::globalContext();
    context.setDeterministicAlgorithms(false, false);
    context.setDeterministicCuDNN(false);
    context.setBenchmarkCuDNN(false);
  }

  static record::RunSpec applied(const std::string& device, bool amp, bool deterministic) {
    record::RunSpec spec;
    spec.device = device;
    spec.amp = amp;
    spec.deterministic = deterministic;
    set_device_environment(spec);
    apply_device_settings(spec);
    return spec;
  }

 private:
  static void clear() {
    ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
    ::unsetenv("NCCL_ALGO");
  }
};

TEST_F(DeviceSettings, AreThoseOfFastUsersAndRecordedWithTheRun) {
  const auto spec = applied("cuda", /*amp=*/true, /*deterministic=*/false);
  EXPECT_TRUE(spec.tf32 && spec.cudnn_benchmark && spec.channels_last);
  const at::Context& context = at::globalContext();
  EXPECT_TRUE(context.allowTF32CuBLAS() && context.allowTF32CuDNN() && context.benchmarkCuDNN());
  EXPECT_FALSE(context.deterministicAlgorithms());
  EXPECT_EQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), nullptr);
  EXPECT_FALSE(applied("cuda", /*amp=*/false, false).channels_last) << "tensor cores want it";
}

TEST_F(DeviceSettings, OfGpusAreNotRecordedForACpu) {
  const auto spec = applied("cpu", false, false);
  EXPECT_FALSE(spec.tf32 || spec.cudnn_benchmark || spec.channels_last);
}

TEST_F(DeviceSettings, DeterministicRunsRefuseOperationsThatAreNot) {
  const auto spec = applied("cuda", false, /*deterministic=*/true);
  EXPECT_FALSE(spec.cudnn_benchmark) << "it may choose another algorithm each time";
  const at::Context& context = at::globalContext();
  EXPECT_TRUE(context.deterministicAlgorithms() && context.deterministicCuDNN());
  EXPECT_FALSE(context.deterministicAlgorithmsWarnOnly() || context.benchmarkCuDNN());
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "^NVLS");
  ::setenv("NCCL_ALGO", "Ring", 1);
  applied("cuda", false, true);
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Ring") << "the user chose it";
}

TEST_F(DeviceSettings, ChannelsLastConcernsWeightsOfConvolutionsAlone) {
  torch::nn::Sequential network(torch::nn::Conv2d(3, 4, 3), torch::nn::Linear(4, 2));
  const auto before = network->parameters()[0].clone();
  use_channels_last(*network);
  const auto weight = network->parameters()[0];
  EXPECT_TRUE(weight.is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::equal(weight, before));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(network->parameters()[i].is_contiguous());
}

}  // namespace
}  // namespace lockstep::train
