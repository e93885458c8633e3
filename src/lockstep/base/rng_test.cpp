#include "lockstep/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

TEST(Rng, GivesTheSameStreamForTheSameKeyAndAnotherForAnother) {
  Rng a(1, 2, 3), b(1, 2, 3), c(1, 3, 2);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(Rng(1, 2, 3).next(), c.next());
}

TEST(Rng, DrawsBelowABoundEvenly) {
  std::array<int, 7> counts{};
  Rng rng(5);
  for (int i = 0; i < 70'000; ++i) ++counts[rng.below(7)];
  // A count is binomial with standard deviation 93; five of them is a false alarm in a million.
  for (int count : counts) EXPECT_NEAR(count, 10'000, 470);
}

TEST(Rng, NormalHasZeroMeanAndUnitVariance) {
  Rng rng(9);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
}

TEST(Rng, PermutationContainsEveryIndexOnce) {
  for (std::uint32_t size : {0U, 1U, 2U, 17U, 1000U}) {
    auto order = random_permutation(size, Rng(size));
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < size; ++i) ASSERT_EQ(order[i], i);
  }
}

}  // namespace
}  // namespace lockstep
