#include "lockstep/comm/wire/rounded_exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "lockstep/base/rng.h"

namespace lockstep::comm {
namespace {

/// The exchanges of a library, among ranks that are elements of a vector.
void all_to_all(std::vector<RoundedExchange>& ranks) {
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    const std::size_t bytes = ranks[from].message_bytes();
    for (std::size_t to = 0; to < ranks.size(); ++to) {
      std::memcpy(ranks[to].incoming().data() + from * bytes,
                  ranks[from].outgoing().data() + to * bytes, bytes);
    }
  }
}

void all_gather(std::vector<RoundedExchange>& ranks) {
  std::vector<std::span<std::byte>> sums;
  for (auto& rank : ranks) sums.push_back(rank.sum());
  for (auto& rank : ranks) {
    for (std::size_t from = 0; from < ranks.size(); ++from) {
      std::memcpy(rank.incoming().data() + from * rank.message_bytes(), sums[from].data(),
                  rank.message_bytes());
    }
  }
}

TEST(RoundedExchange, GivesAllRanksTheSameSumWithinTwoRoundings) {
  // Fewer values than ranks, a part that is not full, and more than one SIMD register.
  for (const std::size_t count : {1UL, 2UL, 17UL, 1003UL}) {
    std::vector<std::vector<float>> values(3, std::vector<float>(count));
    std::vector<double> sum(count), sizes(count);
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t i = 0; i < count; ++i) {
        values[r][i] = static_cast<float>(Rng(r, i, 0).normal());
        sum[i] += values[r][i];
        sizes[i] += std::abs(values[r][i]);
      }
    }
    std::vector<RoundedExchange> ranks;
    for (int r = 0; r < 3; ++r) {
      ranks.emplace_back(values[static_cast<std::size_t>(r)], Wire::kHalf, r, 3);
    }
    all_to_all(ranks);
    all_gather(ranks);
    for (auto& rank : ranks) rank.store();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(values[0][i], sum[i], 2 * 0x1p-11 * sizes[i]) << i << " of " << count;
    }
    EXPECT_EQ(values[1], values[0]);
    EXPECT_EQ(values[2], values[0]);
  }
}

}  // namespace
}  // namespace lockstep::comm
