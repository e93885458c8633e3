#include "lockstep/predict/backtest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::predict {
namespace {

/// Synthetic series: a tree-shaped loss of random size with noise of 1 %.
std::vector<LearningSeries> synthetic_series(int count, std::uint64_t seed) {
  std::vector<LearningSeries> all;
  for (int i = 0; i < count; ++i) {
    Rng rng(seed, static_cast<std::uint64_t>(i));
    const double loss = 0.02 + 0.2 * rng.uniform();
    std::vector<ScalingPoint> points;
    for (double n : {1.0, 2.0, 4.0, 8.0, 16.0}) {
      const double t = 1 + loss * std::log2(n);
      points.push_back({n, n / t * std::exp(0.01 * rng.normal()), 1});
    }
    all.push_back({make_series("synthetic " + std::to_string(i), points, 16),
                   "group " + std::to_string(i / 2), "source " + std::to_string(i % 4), "weak"});
  }
  return all;
}

TEST(Backtest, APriorFittedToOneLawBeatsPerfectScalingAndCoversItsOwnKind) {
  const Prior prior = fit_prior(synthetic_series(120, 1), "synthetic");
  const Backtest unseen =
      summarize_backtest(hold_out_largest(synthetic_series(200, 2), prior, true));
  EXPECT_LT(unseen.ours.mean, unseen.classic[0].mean / 2);
  EXPECT_LT(unseen.ours.median, 0.03);
  // 200 draws of a 90 % event: 5 standard deviations are 10.6 %.
  EXPECT_NEAR(unseen.coverage, 0.9, 0.11);
  EXPECT_LT(unseen.median_width, 0.15);
}

TEST(Backtest, CrossValidationPredictsEverySeriesOnceAndIsRepeatable) {
  const auto all = synthetic_series(60, 3);
  const auto first = cross_validate_largest(all, Unseen::kGroup);
  const auto second = cross_validate_largest(all, Unseen::kGroup);
  ASSERT_EQ(first.size(), all.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].predicted.rate, second[i].predicted.rate);
  }
}

TEST(Backtest, ASourceIsPredictedWithoutAnythingOfIt) {
  // One source of four falls off a cliff at its largest count: who has seen it knows, the others
  // are what it is predicted from when the whole of it is held out.
  std::vector<LearningSeries> all = synthetic_series(100, 5);
  for (LearningSeries& one : all) {
    if (one.source == "source 3") one.series.points.back().rate *= 0.3;
  }
  ASSERT_TRUE(can_hold_out_sources(all));
  for (const HeldOut& held : cross_validate_largest(all, Unseen::kSource)) {
    const auto at = std::stoi(held.series.substr(held.series.find(' ')));
    if (at % 4 != 3) continue;
    EXPECT_GT(held.predicted.rate, 2 * held.actual.rate) << held.series;
  }
}

TEST(Backtest, SourcesAreHeldOutOnlyWhereTheOthersSuffice) {
  std::vector<LearningSeries> all = synthetic_series(100, 5);
  for (LearningSeries& one : all) one.source = one.source == "source 0" ? "a" : "b";
  EXPECT_FALSE(can_hold_out_sources(all));
  all = synthetic_series(100, 5);
  for (std::size_t i = 0; i < 60; ++i) all[i].source = "most of them";
  EXPECT_FALSE(can_hold_out_sources(all));
}

TEST(Backtest, EachSourceAndKindHasItsOwnFigures) {
  std::vector<LearningSeries> all = synthetic_series(20, 5);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].kind = i < 5 ? "strong" : "weak";
  const auto held_out = hold_out_largest(all, shipped_prior(), true);
  const auto kinds = backtest_by(held_out, &HeldOut::kind);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "strong");
  EXPECT_EQ(kinds[0].result.series, 5u);
  EXPECT_EQ(backtest_by(held_out, &HeldOut::source).size(), 4u);
}

TEST(Backtest, SeriesOfOneGroupShareAFold) {
  const std::vector<int> fold = group_folds({"a", "b", "a", "c", "b", "a"}, 3);
  EXPECT_EQ(fold[0], fold[2]);
  EXPECT_EQ(fold[0], fold[5]);
  EXPECT_EQ(fold[1], fold[4]);
  EXPECT_NE(fold[0], fold[1]);
}

TEST(Backtest, SaysWhatIsMissing) {
  EXPECT_THROW(fit_prior(synthetic_series(3, 1), "few"), Error);
  const LearningSeries single{make_series("one", {{1, 5, 0}}), "g", "s", "weak"};
  EXPECT_THROW(summarize_backtest(hold_out_largest({single}, shipped_prior(), true)), Error);
}

}  // namespace
}  // namespace lockstep::predict
