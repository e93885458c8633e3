#include "lockstep/predict/devices/roofline.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::predict {
namespace {

/// Of one example through all parts, forward.
double forward_flops(const TrainingCost& cost) {
  double sum = 0;
  for (const NetworkPart& part : cost.parts) {
    for (const LayerCost& layer : part.layers) sum += layer.flops * part.forward;
  }
  return sum;
}

TEST(NetworkCost, ResNet18HasThePublishedParametersAndWork) {
  const TrainingCost cost = resnet18_cifar_cost();
  EXPECT_EQ(cost.parameters(), 11'173'962);
  // 0.5564 G multiply-adds forward in convolutions and classifier; norms and adds come on top.
  EXPECT_NEAR(forward_flops(cost), 2 * 0.5564e9, 0.02e9);
}

TEST(NetworkCost, DcganHasThePublishedParameters) {
  const TrainingCost cost = dcgan_cost();
  EXPECT_EQ(cost.parts[0].parameters(), 3'576'704);
  EXPECT_EQ(cost.parts[1].parameters(), 2'765'568);
}

TEST(NetworkCost, TheFashionNetworkHasItsParameters) {
  // 80 + 1,752 in convolutions, 150,656 + 1,290 in dense layers.
  EXPECT_EQ(fashion_cost().parameters(), 153'778);
}

TEST(NetworkCost, UnknownNetworksAreNamed) {
  EXPECT_THROW(training_cost("vgg99"), Error);
}

TEST(DeviceTable, FindsDevicesByTheNamesPeopleUse) {
  EXPECT_EQ(find_device("NVIDIA Tesla V100-SXM2-16GB")->name, "v100");
  EXPECT_EQ(find_device("V100S")->name, "v100s");
  EXPECT_EQ(find_device("Tesla T4")->name, "t4");
  EXPECT_EQ(find_device("L40S")->name, "l40s");
  EXPECT_EQ(find_device("NVIDIA L4")->name, "l4");
  EXPECT_EQ(find_device("A100-SXM4-40GB")->name, "a100");
  EXPECT_EQ(find_device("NVIDIA A10")->name, "a10");
  EXPECT_EQ(find_device("GeForce RTX 4090")->name, "rtx4090");
  EXPECT_FALSE(find_device("abacus"));
  EXPECT_FALSE(find_device(""));
}

TEST(Roofline, PredictsTheMeasuredT4ToV100RatioOfTheDcganStudy) {
  // 20 epochs at batch 256: 1528.2 s on a T4, 556.6 s on a V100; FLOPS alone say 1.94.
  const double measured = 1528.2 / 556.6;
  const Estimate ratio = device_ratio(dcgan_cost(), *find_device("v100"), *find_device("t4"), 256);
  EXPECT_NEAR(ratio.value, measured, 0.1 * measured);
  EXPECT_LT(ratio.low, measured);
  EXPECT_GT(ratio.high, measured);
}

TEST(Roofline, ACalibratedProcessorAgainstADataSheetIsLessSure) {
  Device cpu{"cpu:2", 90e9, 22e9};
  cpu.calibrated = true;
  const Estimate mixed = device_ratio(fashion_cost(), cpu, *find_device("t4"), 128);
  const Estimate sheets =
      device_ratio(fashion_cost(), *find_device("v100"), *find_device("t4"), 128);
  EXPECT_LT(mixed.value, 0.1);
  EXPECT_GT(mixed.high / mixed.low, 1.5 * sheets.high / sheets.low);
}

TEST(Roofline, EveryDeviceIsSlowerThanNoneAndScalesWithTheBatch) {
  for (const Device& device : device_table()) {
    const double small = bound_step(resnet18_cifar_cost(), device, 32).seconds;
    const double large = bound_step(resnet18_cifar_cost(), device, 512).seconds;
    EXPECT_GT(small, 0) << device.name;
    EXPECT_GT(large, 10 * small) << device.name;
    EXPECT_LE(large, 16 * small * 1.001) << device.name;
  }
}

TEST(Roofline, SaysWhatBoundsALayer) {
  const StepTimeBound bound = bound_step(resnet18_cifar_cost(), *find_device("v100"), 128);
  for (const LayerTime& layer : bound.layers) {
    const bool relu = layer.name.find("relu") != std::string::npos;
    const bool wide = layer.name.find("stage4.1.conv") != std::string::npos;
    if (relu || wide) {
      EXPECT_EQ(layer.memory_bound, relu) << layer.name;
    }
  }
  EXPECT_GT(bound.memory_bound_part, 0);
  EXPECT_LT(bound.memory_bound_part, 1);
}

}  // namespace
}  // namespace lockstep::predict
