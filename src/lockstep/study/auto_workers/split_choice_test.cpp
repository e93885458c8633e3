#include "lockstep/study/auto_workers/split_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lockstep/base/rng.h"

namespace lockstep::study {
namespace {

using launch::CoreSplit;

const std::vector<CoreSplit> kTwoCores = launch::core_splits(2, 0);

/// Measures rates that are known, and notes the order.
struct Host {
  std::map<std::pair<int, int>, double> rates;
  std::vector<CoreSplit> order{};

  std::vector<MeasuredSplit> measure(const std::vector<CoreSplit>& splits) {
    return measure_splits(splits, [this](const CoreSplit& split) -> std::optional<double> {
      order.push_back(split);
      const double rate = rates.at({split.workers, split.threads});
      return rate > 0 ? std::optional(rate) : std::nullopt;
    });
  }
};

TEST(SplitChoice, TakesTheFastest) {
  Host host{{{{1, 1}, 400}, {{1, 2}, 500}, {{2, 1}, 800}}};
  const auto measured = host.measure(kTwoCores);
  EXPECT_EQ(host.order, kTwoCores) << "no other comes close, so none is measured twice";
  const auto choice = choose_split(measured);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice_sentence(measured, *choice),
            "chosen: 2 workers x 1 thread, 60 % faster than 1 worker x 2 threads");
}

TEST(SplitChoice, MeasuresCloseOnesAgainInReverseOrder) {
  Host host{{{{1, 1}, 400}, {{1, 2}, 780}, {{2, 1}, 800}}};
  host.measure(kTwoCores);
  EXPECT_EQ(host.order, (std::vector<CoreSplit>{{1, 1}, {1, 2}, {2, 1}, {2, 1}, {1, 2}}));
}

TEST(SplitChoice, TakesFewerWorkersWithinTheNoise) {
  Host host{{{{1, 1}, 400}, {{1, 2}, 784}, {{2, 1}, 800}}};
  const auto measured = host.measure(kTwoCores);
  const auto choice = choose_split(measured);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice_sentence(measured, *choice),
            "chosen: 1 worker x 2 threads; the gain of 2 workers x 1 thread, 2.0 %, is within the "
            "noise (3.0 %)");
}

TEST(SplitChoice, TakesTheSpreadOfTheRoundsForTheNoise) {
  const std::vector<MeasuredSplit> quiet{{{1, 2}, {700, 700}}, {{2, 1}, {800, 800}}};
  const std::vector<MeasuredSplit> busy{{{1, 2}, {700, 700}}, {{2, 1}, {650, 950}}};
  EXPECT_EQ(choose_split(quiet)->at, 1u);
  EXPECT_EQ(choose_split(busy)->at, 0u);
  EXPECT_NEAR(choose_split(busy)->noise, 150.0 / 800, 1e-12);
}

TEST(SplitChoice, DropsWhatDoesNotFitIntoMemory) {
  Host host{{{{1, 1}, 400}, {{1, 2}, 0}, {{2, 1}, 0}}};
  const auto measured = host.measure(kTwoCores);
  const auto choice = choose_split(measured);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice_sentence(measured, *choice),
            "chosen: 1 worker x 1 thread, the only one that fits into memory");
  Host full{{{{1, 1}, 0}, {{1, 2}, 0}, {{2, 1}, 0}}};
  EXPECT_FALSE(choose_split(full.measure(kTwoCores)));
}

TEST(SplitChoice, DoesNotMeasureWhereThereIsNoChoice) {
  Host host;
  EXPECT_EQ(host.measure({{1, 1}}).size(), 1u);
  EXPECT_TRUE(host.order.empty());
}

TEST(SplitChoice, IsNeverSlowerThanTheNoiseNorBeatenByFewerWorkers) {
  Rng rng(3);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<MeasuredSplit> measured;
    for (const CoreSplit& split : launch::core_splits(1 + static_cast<int>(rng.below(64)), 0)) {
      std::vector<double> rates;
      for (std::uint64_t round = rng.below(3); round > 0; --round)
        rates.push_back(100 + 900 * rng.uniform());
      measured.push_back({split, rates});
    }
    double best = 0;
    for (const MeasuredSplit& one : measured) best = std::max(best, one.examples_per_s());
    const auto choice = choose_split(measured);
    ASSERT_EQ(choice.has_value(), best > 0);
    if (!choice) continue;
    const MeasuredSplit& chosen = measured[choice->at];
    EXPECT_GE(chosen.examples_per_s(), best * (1 - choice->noise));
    for (const MeasuredSplit& one : measured) {
      if (one.split.workers >= chosen.split.workers) continue;
      EXPECT_LT(one.examples_per_s(), best * (1 - choice->noise));
    }
  }
}

}  // namespace
}  // namespace lockstep::study
