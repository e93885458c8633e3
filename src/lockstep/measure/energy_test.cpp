#include "lockstep/measure/energy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace lockstep::measure {
namespace {

namespace fs = std::filesystem;

class Energy : public ::testing::Test {
 protected:
  void SetUp() override {
    zone("intel-rapl:0", "package-0", 1'000'000);
    zone("intel-rapl:0:0", "core", 900'000);
    zone("intel-rapl:0:1", "dram", 500'000);
    zone("intel-rapl:1", "psys", 9'000'000);
    zone("intel-rapl-mmio:0", "package-0", 1'000'000);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void zone(const std::string& folder, const std::string& name, long long microjoules) {
    fs::create_directories(folder_ / folder);
    std::ofstream(folder_ / folder / "name") << name << "\n";
    std::ofstream(folder_ / folder / "max_energy_range_uj") << 10'000'000 << "\n";
    set(folder, microjoules);
  }
  void set(const std::string& folder, long long microjoules) {
    std::ofstream(folder_ / folder / "energy_uj") << microjoules << "\n";
  }
  EnergyMeter meter(const std::string& nvml = "no-such-library") const {
    return EnergyMeter({.powercap = folder_, .nvml = nvml});
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("energy-test-" + std::to_string(::getpid()));
};

TEST_F(Energy, OfPackagesAndMemoryCountsNothingTwice) {
  EnergyMeter meter = this->meter();
  ASSERT_TRUE(meter.processors());
  set("intel-rapl:0", 3'000'000);
  set("intel-rapl:0:0", 2'500'000);
  set("intel-rapl:0:1", 1'000'000);
  set("intel-rapl:1", 20'000'000);
  EXPECT_DOUBLE_EQ(meter.read(1).processors_j, 2.5);
  EXPECT_EQ(meter.source(false), "RAPL: package-0, dram");
}

TEST_F(Energy, GoesOnWhereACounterBeginsAgain) {
  EnergyMeter meter = this->meter();
  set("intel-rapl:0", 9'500'000);
  EXPECT_DOUBLE_EQ(meter.read(1).processors_j, 8.5);
  set("intel-rapl:0", 1'500'000);  // 0.5 J to the end of the range, 1.5 J after it
  EXPECT_DOUBLE_EQ(meter.read(2).processors_j, 10.5);
}

TEST_F(Energy, IsUnknownAndNotZeroWhereNothingCanBeRead) {
  const SystemClock clock;
  EnergySampler none(clock, EnergyMeter({.powercap = folder_ / "gone", .nvml = "no-such-library"}));
  EXPECT_FALSE(none.total(false));
  EXPECT_FALSE(none.between(0, clock.monotonic(), false));
  EXPECT_NE(none.source(false).find("not measured: "), std::string::npos);
  EXPECT_FALSE(none.total(true));
  EXPECT_EQ(none.source(true), "not measured: no GPU reports its energy");
}

TEST_F(Energy, OfAPartOfTheProcessorsIsNotTakenForAll) {
  fs::remove(folder_ / "intel-rapl:0:1" / "energy_uj");  // as where only root may read it
  const EnergyMeter meter = this->meter();
  EXPECT_FALSE(meter.processors());
  EXPECT_NE(meter.source(false).find("intel-rapl:0:1/energy_uj cannot be read"), std::string::npos);
}

TEST_F(Energy, OfGpusComesFromTheirCountersOrTheirPower) {
  EnergyMeter meter = this->meter(LOCKSTEP_FAKE_NVML);
  ASSERT_TRUE(meter.gpus());
  meter.read(1'000'000'000);
  const double before = meter.read(1'000'000'001).gpus_j;
  // 3 J by the counter of one, 50 W for 2 s by the other.
  EXPECT_NEAR(meter.read(3'000'000'001).gpus_j - before, 103, 1e-6);
  EXPECT_EQ(meter.source(true), "RAPL: package-0, dram; NVML: 2 GPUs");
}

TEST_F(Energy, BetweenTwoMomentsIsInterpolated) {
  struct SetClock final : Clock {
    Nanoseconds monotonic() const override { return now; }
    Nanoseconds wall() const override { return now; }
    Nanoseconds now = 0;
  } clock;
  EnergySampler sampler(clock, meter(), Seconds(3600));
  clock.now = 10;
  set("intel-rapl:0", 5'000'000);
  ASSERT_TRUE(sampler.total(false));
  clock.now = 20;
  set("intel-rapl:0", 6'000'000);
  EXPECT_DOUBLE_EQ(*sampler.total(false), 5);
  EXPECT_DOUBLE_EQ(*sampler.between(5, 15, false), 2 + 0.5);
}

}  // namespace
}  // namespace lockstep::measure
