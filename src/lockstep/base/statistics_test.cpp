#include "lockstep/base/statistics.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

TEST(Statistics, SummarizesAKnownSample) {
  const Summary s = summarize(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(s.count, 8u);
  EXPECT_DOUBLE_EQ(s.mean, 5);
  EXPECT_DOUBLE_EQ(s.deviation * s.deviation, 32.0 / 7);
  EXPECT_DOUBLE_EQ(s.median, 4.5);
  EXPECT_DOUBLE_EQ(s.minimum, 2);
  EXPECT_DOUBLE_EQ(s.maximum, 9);
}

TEST(Statistics, OneValueHasNoDeviation) {
  EXPECT_EQ(summarize(std::vector<double>{3}).deviation, 0);
}

TEST(Statistics, QuantileInterpolatesBetweenOrderStatistics) {
  const std::vector<double> sample{40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(quantile(sample, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(sample, 0.9), 37);
  EXPECT_DOUBLE_EQ(quantile(sample, 1), 40);
  EXPECT_THROW(quantile({}, 0.5), Error);
}

}  // namespace
}  // namespace lockstep
