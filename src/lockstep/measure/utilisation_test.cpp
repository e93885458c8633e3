#include "lockstep/measure/utilisation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::measure {
namespace {

TEST(ProcessUsage, GrowsWithWorkAndReportsItsMemory) {
  const ProcessUsage before = read_process_usage();
  EXPECT_GT(before.resident_bytes, 1 << 20);
  volatile double sink = 0;
  ProcessUsage after = before;
  while (after.cpu_s <= before.cpu_s) {
    for (int i = 0; i < 100'000; ++i) sink = sink + std::sqrt(i);
    after = read_process_usage();
  }
  EXPECT_GT(after.cpu_s, before.cpu_s);
}

TEST(UtilisationLog, StaysWithinItsBoundAndKeepsTimeAndMeans) {
  UtilisationLog log(8);
  double cpu_seconds = 0, seconds = 0;
  for (int i = 0; i < 1000; ++i) {
    record::Utilisation sample;
    sample.at_s = i + 1;
    sample.seconds = 1 + i % 3;
    sample.cpu_cores = 0.5 + (i % 7) * 0.1;
    sample.resident_bytes = i == 500 ? 99 : 10;
    cpu_seconds += sample.cpu_cores * sample.seconds;
    seconds += sample.seconds;
    log.add(sample);
  }
  const auto samples = log.take();
  ASSERT_LE(samples.size(), 8u);
  ASSERT_GE(samples.size(), 4u);
  double kept_cpu = 0, kept_seconds = 0;
  std::int64_t largest = 0;
  for (const auto& sample : samples) {
    kept_cpu += sample.cpu_cores * sample.seconds;
    kept_seconds += sample.seconds;
    largest = std::max(largest, sample.resident_bytes);
    EXPECT_TRUE(std::isnan(sample.gpu));
  }
  EXPECT_NEAR(kept_cpu, cpu_seconds, 1e-9 * cpu_seconds);
  EXPECT_NEAR(kept_seconds, seconds, 1e-9 * seconds);
  EXPECT_EQ(largest, 99);
  EXPECT_EQ(samples.back().at_s, 1000);
  EXPECT_TRUE(log.take().empty());
}

TEST(UtilisationSampler, GivesSamplesThatCoverTheTimeSinceTheLastOnes) {
  const SystemClock clock;
  UtilisationSampler sampler(clock, 3, std::nullopt, Seconds(3600));
  const auto first = sampler.take(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].rank, 3);
  EXPECT_EQ(first[0].epoch, 1);
  EXPECT_GT(first[0].seconds, 0);
  EXPECT_NEAR(first[0].at_s, first[0].seconds, 1e-9);
  const auto second = sampler.take(2);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NEAR(second[0].at_s, first[0].at_s + second[0].seconds, 1e-9);
}

TEST(Nvml, ReadsALibraryLoadedAtRunTime) {
  const auto nvml = Nvml::open(LOCKSTEP_FAKE_NVML);
  ASSERT_TRUE(nvml.has_value());
  const auto usage = nvml->read(0);
  ASSERT_TRUE(usage.has_value());
  EXPECT_DOUBLE_EQ(usage->busy, 0.87);
  EXPECT_EQ(usage->memory_bytes, 12'000'000'000);
  EXPECT_FALSE(nvml->read(1).has_value());
  EXPECT_FALSE(nvml->read(2).has_value());
  EXPECT_FALSE(nvml->read(-1).has_value());
}

TEST(Nvml, IsAbsentWhereTheLibraryIs) {
  EXPECT_FALSE(Nvml::open("/nowhere/libnvidia-ml.so").has_value());
}

TEST(NvmlIndex, FollowsWhatCudaShows) {
  const auto nvml = Nvml::open(LOCKSTEP_FAKE_NVML);
  ASSERT_TRUE(nvml.has_value());
  const auto index = [&](int visible, const char* devices) {
    return nvml_index(*nvml, {.number = visible, .pci_id = ""}, devices);
  };
  EXPECT_EQ(index(1, nullptr), 1);
  EXPECT_EQ(index(0, "2,5"), 2);
  EXPECT_EQ(index(1, "2,5"), 5);
  EXPECT_EQ(index(2, "2,5"), std::nullopt);
  EXPECT_EQ(index(0, ""), std::nullopt);
  EXPECT_EQ(index(0, "GPU-00000002"), 1);
  EXPECT_EQ(index(1, "GPU-00000002,GPU-00000001"), 0);
  EXPECT_EQ(index(0, "GPU-unknown"), std::nullopt);
  EXPECT_EQ(index(0, "MIG-00000002"), 1) << "the GPU that it is a part of";
}

TEST(NvmlIndex, IsThatOfThePlaceOnTheBusWhereCudaNumbersInAnotherOrder) {
  const auto nvml = Nvml::open(LOCKSTEP_FAKE_NVML);
  ASSERT_TRUE(nvml.has_value());
  EXPECT_EQ(nvml_index(*nvml, {.number = 0, .pci_id = "0000:02:00.0"}, nullptr), 1);
  EXPECT_EQ(nvml_index(*nvml, {.number = 1, .pci_id = "0000:01:00.0"}, "0,1"), 0);
  EXPECT_EQ(nvml_index(*nvml, {.number = 1, .pci_id = "0000:07:00.0"}, nullptr), 1);
}

}  // namespace
}  // namespace lockstep::measure
