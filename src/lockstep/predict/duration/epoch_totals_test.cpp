#include "lockstep/predict/duration/epoch_totals.h"

#include <gtest/gtest.h>

namespace lockstep::predict {
namespace {

TEST(EpochTotals, AWholeRunOfThatLengthIsItsOwnAnswer) {
  const auto total = predict_total({{1, 20, 1528.2}, {1, 1, 86.5}}, {.workers = 1, .epochs = 20});
  ASSERT_TRUE(total);
  EXPECT_TRUE(total->measured);
  EXPECT_DOUBLE_EQ(total->seconds.value, 1528.2);
}

TEST(EpochTotals, IntervalsAreAsWideAsRepeatsDiffer) {
  const std::vector<WholeRun> once{{1, 2, 10}, {1, 4, 20}};
  std::vector<WholeRun> repeated = once;
  for (WholeRun& run : repeated) run.spread = 0.1;
  for (const std::int64_t epochs : {2, 3, 8}) {
    const auto sure = predict_total(once, {.workers = 1, .epochs = epochs});
    const auto unsure = predict_total(repeated, {.workers = 1, .epochs = epochs});
    ASSERT_TRUE(sure && unsure);
    EXPECT_LT(unsure->seconds.low, 0.9 * unsure->seconds.value);
    EXPECT_LT(unsure->seconds.low, sure->seconds.low);
    EXPECT_GT(unsure->seconds.high, sure->seconds.high);
  }
}

TEST(EpochTotals, TwoLengthsTellWhatRecursFromWhatDoesNot) {
  // 10 s once and 5 s per epoch.
  const auto total = predict_total({{4, 2, 20}, {4, 10, 60}}, {.workers = 4, .epochs = 20});
  ASSERT_TRUE(total);
  EXPECT_FALSE(total->measured);
  EXPECT_NEAR(total->seconds.value, 110, 1e-9);
  EXPECT_LT(total->seconds.low, 110);
  EXPECT_GT(total->seconds.high, 110);
}

TEST(EpochTotals, AddsWhatWholeRunsTookBeyondTheirEpochs) {
  const std::vector<WholeRun> runs{{1, 10, 662, 20}, {2, 10, 319, 11}, {4, 10, 205, 5}};
  const auto total =
      predict_total(runs, {.workers = 8, .epochs = 10, .epoch_s = Estimate{2.5, 2, 4}});
  ASSERT_TRUE(total);
  EXPECT_NEAR(total->seconds.value, 209 + 25, 1e-9);  // the median of 462, 209 and 155
  EXPECT_LT(total->seconds.low, 155 + 20);
  EXPECT_GT(total->seconds.high, 462 + 40);
  EXPECT_NE(total->because.find("start-up"), std::string::npos);
}

TEST(EpochTotals, OneFirstEpochOfTheGanStudyHoldsItsTwenty) {
  // First epoch and 20 epochs: 2 CPUs, 16 CPUs, T4, V100.
  const double study[4][2] = {{1486.7, 30522.1}, {499.8, 10313.0}, {86.5, 1528.2}, {33.4, 556.6}};
  for (const auto& [first, actual] : study) {
    const FirstEpoch where = first > 100 ? FirstEpoch::kOnHost : FirstEpoch::kOnDevice;
    const auto total = predict_total({{1, 1, first}}, {.workers = 1, .epochs = 20, .where = where});
    ASSERT_TRUE(total);
    EXPECT_FALSE(total->measured);
    EXPECT_LT(total->seconds.low, actual);
    EXPECT_GT(total->seconds.high, actual);
    EXPECT_NEAR(total->seconds.value / actual, 1, 0.08);  // one epoch x 20 was off by 13 and 20 %
  }
}

TEST(EpochTotals, NothingIsSaidOfNothing) {
  EXPECT_FALSE(predict_total({}, {.workers = 2, .epochs = 3}));
  EXPECT_FALSE(predict_total({{1, 5, 10}}, {.workers = 2, .epochs = 3}));
}

}  // namespace
}  // namespace lockstep::predict
