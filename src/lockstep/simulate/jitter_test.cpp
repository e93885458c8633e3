#include "lockstep/simulate/jitter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::simulate {
namespace {

double mean_slowest(const Jitter& jitter, double workers) {
  constexpr int kPoints = 2000;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    sum += slowest_factor(jitter, {{workers, 1}}, (i + 0.5) / kPoints);
  }
  return sum / kPoints;
}

TEST(Jitter, NoneLeavesEveryWorkerAtOne) {
  EXPECT_EQ(slowest_factor(Jitter(), {{1000, 1}}, 0.3), 1);
  EXPECT_TRUE(Jitter::measured({0.2}).none());
  EXPECT_TRUE(Jitter::measured({0.2, 0.2}).none());
}

TEST(Jitter, OneWorkerTakesTheMean) {
  EXPECT_NEAR(mean_slowest(Jitter::stated(0.1), 1), 1, 1e-3);
  EXPECT_NEAR(mean_slowest(Jitter::measured({3, 1, 2, 2}), 1), 1, 0.01);
}

// The largest of N uniform values in [0, 1] has the mean N/(N+1).
TEST(Jitter, SlowestOfManyFollowsOrderStatistics) {
  std::vector<double> uniform;
  for (int i = 0; i <= 1000; ++i) uniform.push_back(1 + i / 1000.0);
  const Jitter jitter = Jitter::measured(uniform);
  for (const double n : {2.0, 9.0, 99.0}) {
    EXPECT_NEAR(1.5 * mean_slowest(jitter, n), 1 + n / (n + 1), 1e-3);
  }
}

// Largest of N standard normal values: 1.5388 for 10, 2.5076 for 100, 3.2414 for 1000.
TEST(Jitter, StatedSpreadGrowsLikeThatOfNormalValues) {
  const Jitter jitter = Jitter::stated(0.01);
  EXPECT_NEAR((mean_slowest(jitter, 10) - 1) / 0.01, 1.5388, 0.03);
  EXPECT_NEAR((mean_slowest(jitter, 100) - 1) / 0.01, 2.5076, 0.05);
  EXPECT_NEAR((mean_slowest(jitter, 1000) - 1) / 0.01, 3.2414, 0.08);
}

TEST(Jitter, ASlowClassDecides) {
  EXPECT_EQ(slowest_factor(Jitter(), {{7, 1}, {1, 2}}, 0.5), 2);
  EXPECT_NEAR(slowest_factor(Jitter::stated(0.001), {{7, 1}, {1, 2}}, 0.5), 2, 0.01);
}

TEST(Jitter, AveragesOutOverLocalSteps) {
  const Jitter measured = Jitter::measured({1, 1, 1, 1, 1.5});
  const double once = mean_slowest(measured, 100) - 1;
  const double sixteen = mean_slowest(measured.averaged(16, 1), 100) - 1;
  EXPECT_LT(sixteen, once);
  EXPECT_GT(sixteen, 0);
  EXPECT_NEAR(Jitter::stated(0.2).averaged(16, 1).deviation(), 0.05, 1e-12);
}

}  // namespace
}  // namespace lockstep::simulate
