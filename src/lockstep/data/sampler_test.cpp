#include "lockstep/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::data {
namespace {

using Indices = std::vector<std::uint32_t>;

/// What all ranks together draw in one step, in rank order.
Indices global_batch(const std::vector<DistributedSampler>& ranks, std::int64_t step) {
  Indices all;
  for (const auto& sampler : ranks) {
    const int accumulate = sampler.options().accumulate;
    for (int micro = 0; micro < accumulate; ++micro) {
      const auto part = sampler.micro_batch(step * accumulate + micro);
      EXPECT_EQ(part.step, step);
      EXPECT_EQ(part.micro, micro);
      all.insert(all.end(), part.indices.begin(), part.indices.end());
    }
  }
  return all;
}

std::vector<DistributedSampler> all_ranks(SamplerOptions options, int epoch) {
  std::vector<DistributedSampler> ranks;
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    ranks.emplace_back(options).set_epoch(epoch);
  }
  return ranks;
}

SamplerOptions random_sampling(Rng& rng) {
  SamplerOptions options;
  options.examples = 1 + static_cast<std::int64_t>(rng.below(500));
  options.batch = 1 + static_cast<std::int64_t>(rng.below(40));
  options.accumulate = 1 + static_cast<int>(rng.below(4));
  options.world = 1 + static_cast<int>(rng.below(9));
  options.seed = rng.next();
  options.shuffle = rng.below(4) != 0;
  return options;
}

TEST(DistributedSampler, CoversEveryExampleOnceForAnySizeAndWorkerCount) {
  Rng rng(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const SamplerOptions options = random_sampling(rng);
    const auto ranks = all_ranks(options, 1 + static_cast<int>(rng.below(5)));
    Indices seen;
    for (std::int64_t step = 0; step < ranks[0].steps(); ++step) {
      const auto batch = global_batch(ranks, step);
      ASSERT_FALSE(batch.empty());
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    std::sort(seen.begin(), seen.end());
    Indices every(static_cast<std::size_t>(options.examples));
    std::iota(every.begin(), every.end(), 0U);
    ASSERT_EQ(seen, every) << options.examples << " examples, b " << options.batch << ", A "
                           << options.accumulate << ", N " << options.world;
  }
}

TEST(DistributedSampler, CountsOfAStepAddUpAndDifferByOneAtMost) {
  Rng rng(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const SamplerOptions options = random_sampling(rng);
    const auto ranks = all_ranks(options, 1);
    const std::int64_t full = options.world * options.batch * options.accumulate;
    for (std::int64_t step = 0; step < ranks[0].steps(); ++step) {
      std::int64_t sum = 0, least = full, most = 0, global = 0;
      for (const auto& sampler : ranks) {
        ASSERT_EQ(sampler.steps(), ranks[0].steps());
        std::int64_t local = 0;
        for (int micro = 0; micro < options.accumulate; ++micro) {
          const auto part = sampler.micro_batch(step * options.accumulate + micro);
          ASSERT_LE(part.indices.size(), static_cast<std::size_t>(options.batch));
          local += static_cast<std::int64_t>(part.indices.size());
          global = part.global_count;
          if (micro + 1 == options.accumulate) {
            ASSERT_EQ(part.step_count, local);
          }
        }
        sum += local;
        least = std::min(least, local);
        most = std::max(most, local);
      }
      ASSERT_EQ(sum, global);
      ASSERT_LE(most - least, 1);
      if (step + 1 < ranks[0].steps()) {
        ASSERT_EQ(global, full);
      }
    }
  }
}

TEST(DistributedSampler, ManyWorkersDrawTheGlobalBatchesOfOne) {
  Rng rng(3);
  for (int trial = 0; trial < 500; ++trial) {
    const SamplerOptions many = random_sampling(rng);
    SamplerOptions one = many;
    one.batch = many.batch * many.world * many.accumulate;
    one.world = one.accumulate = 1;
    const auto ranks = all_ranks(many, 3), single = all_ranks(one, 3);
    ASSERT_EQ(ranks[0].steps(), single[0].steps());
    for (std::int64_t step = 0; step < ranks[0].steps(); ++step) {
      ASSERT_EQ(global_batch(ranks, step), global_batch(single, step));
    }
  }
}

TEST(DistributedSampler, OrderDependsOnSeedAndEpochAlone) {
  const auto first_epoch = [](std::uint64_t seed, int epoch) {
    return global_batch(all_ranks({.examples = 300, .batch = 300, .seed = seed}, epoch), 0);
  };
  EXPECT_EQ(first_epoch(7, 2), first_epoch(7, 2));
  EXPECT_NE(first_epoch(7, 2), first_epoch(7, 3));
  EXPECT_NE(first_epoch(7, 2), first_epoch(8, 2));

  DistributedSampler sampler({.examples = 300, .batch = 300, .seed = 7});
  for (int epoch : {5, 1, 2}) sampler.set_epoch(epoch);
  const auto indices = sampler.micro_batch(0).indices;
  EXPECT_EQ(Indices(indices.begin(), indices.end()), first_epoch(7, 2));
}

TEST(DistributedSampler, KeepsStoredOrderWithoutShuffle) {
  for (int epoch : {1, 9}) {
    const auto ranks = all_ranks({.examples = 10, .batch = 2, .world = 2, .shuffle = false}, epoch);
    EXPECT_EQ(global_batch(ranks, 0), (Indices{0, 1, 2, 3}));
    EXPECT_EQ(global_batch(ranks, 2), (Indices{8, 9}));
  }
}

TEST(DistributedSampler, LeavesSomeRanksEmptyWhenTheLastStepIsThatSmall) {
  const auto ranks = all_ranks({.examples = 9, .batch = 2, .world = 4}, 1);
  ASSERT_EQ(ranks[0].steps(), 2);
  EXPECT_EQ(ranks[0].micro_batch(1).indices.size(), 1U);
  EXPECT_EQ(ranks[1].micro_batch(1).indices.size(), 0U);
  EXPECT_EQ(ranks[3].micro_batch(1).global_count, 1);
}

TEST(DistributedSampler, RefusesSizesThatMakeNoSense) {
  EXPECT_THROW(DistributedSampler({.examples = 0}), Error);
  EXPECT_THROW(DistributedSampler({.examples = 5, .batch = 0}), Error);
  EXPECT_THROW(DistributedSampler({.examples = 5, .rank = 2, .world = 2}), Error);
  EXPECT_THROW(DistributedSampler({.examples = 5, .accumulate = 0}), Error);
}

}  // namespace
}  // namespace lockstep::data
