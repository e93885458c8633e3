#include "lockstep/watch/join_energy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::watch {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Reads its counters at 0, 10 and 20 s; its host draws `watts`, its GPU, if it has one,
/// `gpu_watts`.
RankRecord rank_on(int rank, const std::string& host, std::optional<double> watts,
                   const std::string& gpu = "", double gpu_watts = 0) {
  RankRecord record;
  record.rank = rank;
  record.host = host;
  record.device = gpu.empty() ? "cpu" : "Tesla T4";
  for (const int at : {0, 10, 20}) {
    EnergySample sample{at * kSecond, std::nullopt, std::nullopt, gpu, ""};
    if (watts) sample.processors_j = *watts * at;
    if (!watts) sample.problem = "energy_uj cannot be read";
    if (!gpu.empty()) sample.gpu_j = gpu_watts * at;
    record.energy.push_back(sample);
  }
  return record;
}

/// Epoch 1 from 2 to 6 s, epoch 2 from 8 to 18 s.
std::vector<record::StepTimes> two_epochs() {
  std::vector<record::StepTimes> steps;
  for (const auto& [epoch, from, to] : {std::tuple{1, 2, 4}, {1, 4, 6}, {2, 8, 18}}) {
    record::StepTimes step;
    step.epoch = epoch;
    step.start_ns = from * kSecond;
    step.total_s = to - from;
    steps.push_back(step);
  }
  return steps;
}

TEST(JoinEnergy, AddsHostsAndCountsEachOnce) {
  const RunEnergy energy =
      join_energy({rank_on(0, "a", 50), rank_on(1, "a", 50), rank_on(2, "b", 70)}, two_epochs());
  EXPECT_DOUBLE_EQ(energy.total_j, 20 * (50 + 70));
  EXPECT_DOUBLE_EQ(energy.epochs_j.at(1), 4 * (50 + 70));
  EXPECT_DOUBLE_EQ(energy.epochs_j.at(2), 10 * (50 + 70));
  EXPECT_EQ(energy.source, "RAPL of 2 hosts, from the import of PyTorch on");
}

TEST(JoinEnergy, AddsTheGpusOfRanksAndCountsASharedOneOnce) {
  const RunEnergy energy =
      join_energy({rank_on(0, "a", 50, "GPU-1", 200), rank_on(1, "a", 50, "GPU-1", 200),
                   rank_on(2, "b", 70, "GPU-2", 250)},
                  two_epochs());
  EXPECT_DOUBLE_EQ(energy.total_j, 20 * (50 + 70 + 200 + 250));
  EXPECT_NE(energy.source.find("NVML: 2 GPUs"), std::string::npos) << energy.source;
}

TEST(JoinEnergy, IsUnknownWhereOneHostCannotBeRead) {
  const RunEnergy energy =
      join_energy({rank_on(0, "a", 50), rank_on(1, "b", std::nullopt)}, two_epochs());
  EXPECT_TRUE(std::isnan(energy.total_j));
  EXPECT_TRUE(energy.epochs_j.empty());
  EXPECT_EQ(energy.source, "not measured: b: energy_uj cannot be read");
}

TEST(JoinEnergy, IsUnknownWhereAGpuCannotBeRead) {
  RankRecord silent = rank_on(1, "b", 50);
  silent.device = "Tesla T4";
  const RunEnergy energy = join_energy({rank_on(0, "a", 50, "GPU-1", 200), silent}, two_epochs());
  EXPECT_TRUE(std::isnan(energy.total_j));
  EXPECT_EQ(energy.source, "not measured: rank 1 cannot read the energy of its GPU");
}

TEST(JoinEnergy, OfGpusAloneStatesWhatIsMissing) {
  const RunEnergy energy = join_energy({rank_on(0, "a", std::nullopt, "GPU-1", 200)}, two_epochs());
  EXPECT_DOUBLE_EQ(energy.total_j, 20 * 200);
  EXPECT_NE(energy.source.find("without processors: a: energy_uj cannot be read"),
            std::string::npos)
      << energy.source;
}

}  // namespace
}  // namespace lockstep::watch
