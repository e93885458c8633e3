#include "lockstep/train/trainer/bucket_tuner.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace lockstep::train {
namespace {

using Costs = std::map<std::uint64_t, double>;

std::vector<double> alone(double mine) {
  return {mine};
}

/// Runs a tuner until it has chosen, with times that are known `late` steps after their step.
std::uint64_t chosen(const Costs& costs, std::uint64_t largest, int late,
                     const BucketTuner::Gather& gather = alone) {
  BucketTuner tuner(largest);
  std::vector<std::uint64_t> used;
  for (std::int64_t step = 0; step < 500 && !tuner.done(); ++step) {
    used.push_back(tuner.size());
    tuner.step_begins(step);
    if (step >= late) {
      const double slow = step % 50 == 7 ? 10 : 0;  // now and then the machine is busy
      tuner.observe(step - late, costs.at(used[static_cast<std::size_t>(step - late)]) + slow);
    }
    tuner.decide(gather);
  }
  EXPECT_TRUE(tuner.done());
  EXPECT_LT(used.size(), 80U);
  return tuner.size();
}

const Costs kValley{{256'000, 5},    {1'000'000, 3},  {4'000'000, 2},
                    {16'000'000, 4}, {50'000'000, 6}, {100'000'000, 6}};

TEST(BucketTuner, ChoosesTheSizeWithTheLeastExposedCommunication) {
  EXPECT_EQ(chosen(kValley, 200'000'000, 0), 4'000'000U);
}

TEST(BucketTuner, TakesTimesThatAreKnownAStepLate) {
  EXPECT_EQ(chosen(kValley, 200'000'000, 1), 4'000'000U);
}

TEST(BucketTuner, TriesNoSizeBeyondAllGradients) {
  const Costs small{{256'000, 5}, {1'000'000, 3}};
  EXPECT_EQ(chosen(small, 500'000, 0), 1'000'000U);
  EXPECT_TRUE(BucketTuner(1000).done());
}

TEST(BucketTuner, DecidesByAllRanks) {
  // This rank would choose 4 MB; another finds that and 1 MB slow.
  const auto gather = [](double mine) {
    return std::vector<double>{mine, mine < 3.5 ? 20.0 : mine};
  };
  EXPECT_EQ(chosen(kValley, 200'000'000, 0, gather), 16'000'000U);
}

TEST(BucketTuner, SummaryNamesTheChoiceFirst) {
  BucketTuner tuner(500'000);
  for (std::int64_t step = 0; !tuner.done(); ++step) {
    const double cost = tuner.size() == 256'000 ? 0.002 : 0.001;
    tuner.step_begins(step);
    tuner.observe(step, cost);
    tuner.decide(alone);
  }
  EXPECT_EQ(tuner.summary().find("1.00 MB ("), 0U) << tuner.summary();
}

}  // namespace
}  // namespace lockstep::train
