#include "collectives_bench.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "ordering.h"

namespace lockstep::worker {
namespace {

/// One rank that sums on the device double, where the host cannot read.
class OneOnDevice final : public comm::Communicator {
 public:
  explicit OneOnDevice(float factor) : Communicator(0, 1), factor_(factor) {}
  record::Backend backend() const override { return record::Backend::kNccl; }
  comm::Residence residence() const override { return comm::Residence::kDevice; }
  std::span<float> allocate(std::size_t count) override {
    memory_ = torch::zeros({static_cast<std::int64_t>(count)}, torch::kCUDA);
    return {memory_.data_ptr<float>(), count};
  }
  void start_sum(std::span<float>) override { memory_.mul_(factor_); }
  void finish() override {}
  void sum_to_root(std::span<float>, int) override {}
  void broadcast(std::span<std::byte>, int) override {}
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::copy(mine.begin(), mine.end(), all.begin());
  }

 private:
  float factor_;  ///< of a sum that is wrong; 1 = right
  torch::Tensor memory_;
};

std::vector<nlohmann::json> measured(float factor) {
  const SystemClock clock;
  OneOnDevice comm(factor);
  CollectivesOptions options;
  options.most_bytes = 64 << 10;
  options.seconds_per_size = 0.001;
  std::vector<nlohmann::json> lines;
  bench_collectives(options, comm, clock,
                    [&](const std::string& line) { lines.push_back(nlohmann::json::parse(line)); });
  return lines;
}

TEST(CollectivesBench, FillsAndChecksMemoryThatOnlyTheDeviceReaches) {
  const auto lines = measured(1);
  ASSERT_EQ(lines.size(), 3U);
  for (const auto& line : lines) {
    EXPECT_EQ(line.at("wrong"), 0);
    EXPECT_GT(line.at("seconds"), 0);
  }
}

TEST(CollectivesBench, CountsSumsThatAreWrongOnTheDevice) {
  for (const auto& line : measured(3)) EXPECT_GT(line.at("wrong"), 0);
}

}  // namespace
}  // namespace lockstep::worker
