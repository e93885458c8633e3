#include "lockstep/predict/scaling/scaling_prediction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::predict {
namespace {

ScalingSeries from_efficiencies(const std::vector<std::pair<double, double>>& points, int host) {
  std::vector<ScalingPoint> measured;
  for (const auto& [workers, efficiency] : points) {
    measured.push_back({workers, 100 * workers * efficiency, 0});
  }
  return make_series("s", measured, host);
}

void expect_sane(const ScalingPrediction& p) {
  EXPECT_TRUE(std::isfinite(p.rate) && std::isfinite(p.low) && std::isfinite(p.high));
  EXPECT_GT(p.low, 0);
  EXPECT_LE(p.low, p.rate);
  EXPECT_LE(p.rate, p.high);
  EXPECT_LT(p.low, p.high);
  EXPECT_FALSE(p.width.empty());
}

TEST(ScalingPrediction, SmoothSeriesGoesOnSmoothlyWithANarrowInterval) {
  const auto p =
      predict_rate(from_efficiencies({{1, 1}, {2, 0.99}, {4, 0.98}, {8, 0.97}}, 16), {16, 0, 0});
  EXPECT_NEAR(p.efficiency, 0.96, 0.02);
  EXPECT_LT((p.high - p.low) / p.rate, 0.25);
  double sum = 0;
  for (const FormShare& share : p.shares) sum += share.weight;
  EXPECT_NEAR(sum, 1, 1e-5);  // the shipped weights have six digits
}

TEST(ScalingPrediction, ALossThatGrowsSmoothlyGoesOn) {
  // Saturating input: 16 % lost at the second worker, a further 18 % at the third.
  const auto three = predict_rate(from_efficiencies({{1, 1}, {2, 0.84}, {3, 0.69}}, 4), {4, 0, 0});
  EXPECT_LT(three.efficiency, 0.69 * 0.93);
  // The same from two counts.
  const auto two = predict_rate(from_efficiencies({{1, 1}, {2, 0.72}}, 4), {4, 0, 0});
  EXPECT_LT(two.efficiency, 0.72 * 0.82);
  EXPECT_GT(two.efficiency, 0.72 * 0.72);
}

TEST(ScalingPrediction, FromOneCountMoreWorkersMayBringNothing) {
  const ScalingSeries one = from_efficiencies({{1, 1}}, 8);
  for (const double workers : {2.0, 4.0, 8.0}) {
    const auto p = predict_rate(one, {workers, 0, 0});
    EXPECT_NEAR(p.low, 100, 1e-6) << workers;
    EXPECT_GT(p.rate, 85 * workers);
    EXPECT_LE(p.high, 130 * workers);
  }
  // Far away some gain is all but certain.
  EXPECT_GT(predict_rate(one, {256, 0, 0}).low, 100);
  // A second count shows what the exchange costs.
  EXPECT_GT(predict_rate(from_efficiencies({{1, 1}, {2, 0.95}}, 8), {4, 0, 0}).low, 250);
}

TEST(ScalingPrediction, ASuddenLossInsideAHostIsNotExtrapolated) {
  const std::vector<std::pair<double, double>> points{{1, 1}, {2, 0.99}, {4, 0.98}, {8, 0.6}};
  const auto inside = predict_rate(from_efficiencies(points, 16), {16, 0, 0});
  EXPECT_NEAR(inside.efficiency, 0.6, 1e-9);
  // It may well go on, or have been a disturbance.
  EXPECT_LT(inside.low, 0.4 / 0.6 * inside.rate);
  EXPECT_GT(inside.high, 0.75 / 0.6 * inside.rate);
  // Across hosts a link that is full stays full.
  const auto across = predict_rate(from_efficiencies(points, 2), {16, 0, 0});
  EXPECT_LT(across.efficiency, 0.55);
}

TEST(ScalingPrediction, WorkThatMoreWorkersMadeSlowerDoesNotGetFasterThanItEverWas) {
  ScalingSeries s = make_series("s", {{1, 100, 0}, {2, 55, 0}, {4, 35, 0}}, 16);
  const auto weak = predict_rate(s, {8, 0, 0});
  s.scaling = Scaling::kStrong;
  const auto shared = predict_rate(s, {8, 0, 0});
  for (const auto& p : {weak, shared}) {
    expect_sane(p);
    EXPECT_LT(p.low, 35);
  }
  EXPECT_LE(shared.high, 101);
  // Weak scaling does come back, where the slow counts were outliers.
  EXPECT_GT(weak.high, 90);
}

TEST(ScalingPrediction, WorkThatEachDoublingMadeSlowerIsExpectedToGetSlowerStill) {
  ScalingSeries s = make_series("s", {{1, 1 / 38.0, 0}, {2, 1 / 67.0, 0}, {4, 1 / 121.0, 0}}, 8);
  s.scaling = Scaling::kStrong;
  const auto p = predict_rate(s, {8, 0, 0});
  expect_sane(p);
  // The time grew by 29 and by 54: by more than the first growth again, at most by twice the last.
  EXPECT_GT(1 / p.rate, 121 + 29);
  EXPECT_LT(1 / p.rate, 121 + 108);
}

TEST(ScalingPrediction, TheIntervalGrowsWithTheLastLoss) {
  double last = 0;
  for (const double efficiency : {0.97, 0.9, 0.8, 0.6}) {
    const auto p =
        predict_rate(from_efficiencies({{1, 1}, {2, 0.98}, {4, efficiency}}, 16), {8, 0, 0});
    EXPECT_GT(p.high / p.low, last) << efficiency;
    last = p.high / p.low;
  }
}

TEST(ScalingPrediction, LeavingTheHostIsWiderAndNamesTheRunThatWouldSettleIt) {
  const std::vector<std::pair<double, double>> points{{1, 1}, {2, 0.98}, {4, 0.96}, {8, 0.95}};
  const auto inside = predict_rate(from_efficiencies(points, 16), {16, 0, 0});
  const auto across = predict_rate(from_efficiencies(points, 8), {16, 0, 0});
  EXPECT_GT(across.high / across.low, inside.high / inside.low);
  EXPECT_LT(across.rate, inside.rate);
  ASSERT_FALSE(across.unknowns.empty());
  EXPECT_NE(across.unknowns.front().find("two hosts"), std::string::npos);
}

TEST(ScalingPrediction, TheRunThatWouldSettleItWasNotMadeYet) {
  for (const double target : {3.0, 4.0, 16.0}) {
    const auto p = predict_rate(from_efficiencies({{1, 1}, {2, 0.9}}, 64), {target, 0, 0});
    ASSERT_EQ(p.unknowns.size(), 1u);
    EXPECT_EQ(p.unknowns.front().find("run 1 "), std::string::npos) << p.unknowns.front();
    EXPECT_EQ(p.unknowns.front().find("run 2 "), std::string::npos) << p.unknowns.front();
  }
}

TEST(ScalingPrediction, FewerPointsMeanWiderIntervals) {
  const auto one = predict_rate(from_efficiencies({{1, 1}}, 8), {8, 0, 0});
  const auto many = predict_rate(from_efficiencies({{1, 1}, {2, 0.97}, {4, 0.95}}, 8), {8, 0, 0});
  EXPECT_GT(one.high / one.low, many.high / many.low);
  EXPECT_FALSE(one.unknowns.empty());
}

TEST(ScalingPrediction, FarTargetsAreWiderThanNearOnes) {
  const ScalingSeries s = from_efficiencies({{1, 1}, {2, 0.9}, {4, 0.84}}, 1024);
  double last = 0;
  for (double n : {8.0, 16.0, 64.0}) {
    const auto p = predict_rate(s, {n, 0, 0});
    EXPECT_GT(p.high / p.low, last) << n;
    last = p.high / p.low;
  }
}

TEST(ScalingPrediction, AMeasuredCountIsItsMeasurement) {
  const auto p = predict_rate(from_efficiencies({{1, 1}, {2, 0.9}, {4, 0.8}}, 8), {2, 0, 0});
  EXPECT_TRUE(p.measured);
  EXPECT_NEAR(p.rate, 180, 1e-9);
  expect_sane(p);
}

TEST(ScalingPrediction, BetweenMeasuredCountsItInterpolatesEfficiency) {
  const auto p = predict_rate(from_efficiencies({{1, 1}, {2, 0.9}, {8, 0.8}}, 8), {4, 0, 0});
  EXPECT_NEAR(p.efficiency, std::sqrt(0.9 * 0.8), 1e-9);
  expect_sane(p);
}

TEST(ScalingPrediction, BelowTheSmallestCountAsksForTheBaseline) {
  const auto p = predict_rate(from_efficiencies({{2, 1}, {4, 0.9}}, 8), {1, 0, 0});
  expect_sane(p);
  EXPECT_NE(p.unknowns.front().find("run 1 worker"), std::string::npos);
}

TEST(ScalingPrediction, NothingUsableIsASentence) {
  try {
    predict_rate(make_series("empty", {{1, 0, 0}}), {4, 0, 0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(std::string(error.what()).find("empty"), std::string::npos);
  }
  EXPECT_THROW(predict_rate(from_efficiencies({{1, 1}}, 8), {0, 0, 0}), Error);
  EXPECT_THROW(predict_rate(from_efficiencies({{1, 1}}, 8), {std::nan(""), 0, 0}), Error);
}

TEST(ScalingPrediction, ASeriesThatKeepsGettingSlowerIsNotPredictedToRecover) {
  const ScalingSeries s = make_series("s", {{1, 100, 0}, {2, 80, 0}, {4, 50, 0}}, 8);
  const auto p = predict_rate(s, {8, 0, 0});
  expect_sane(p);
  EXPECT_LT(p.rate, 100);
  // As if the last fall went on.
  EXPECT_LE(p.low, 50 * 50 / 80.0 + 1e-9);
}

TEST(ScalingPrediction, NumbersThatAreNoiseGiveAnIntervalAsWide) {
  const ScalingSeries s = make_series("s", {{1, 100, 0}, {2, 20, 0}, {4, 900, 0}}, 8);
  const auto p = predict_rate(s, {8, 0, 0});
  expect_sane(p);
  EXPECT_GT(p.high / p.low, 50);
}

TEST(ScalingPrediction, FarBetweenTwoCountsMoreCanHappenThanNearBy) {
  const auto near = predict_rate(from_efficiencies({{2, 1}, {8, 1}}, 8), {4, 0, 0});
  const auto far = predict_rate(from_efficiencies({{1, 1}, {1e6, 1}}, 8), {4, 0, 0});
  EXPECT_GT(far.high / far.low, near.high / near.low);
}

TEST(ScalingPrediction, CountsMayBeginAt256AndPairsMayBeSuperLinear) {
  const ScalingSeries large = make_series("s", {{256, 1e6, 32}, {512, 1.9e6, 64}}, 8);
  const auto p = predict_rate(large, {1024, 0, 128});
  expect_sane(p);
  EXPECT_NEAR(p.efficiency, 0.9, 0.1);
  const auto gain = predict_rate(from_efficiencies({{8, 1}, {16, 1.1}, {32, 1.15}}, 8), {64, 0, 0});
  expect_sane(gain);
  EXPECT_NEAR(gain.efficiency, 1.1, 0.06);
}

TEST(ScalingPrediction, ABatchWhoseCostWasNeverSeenMayCostNothingOrAllOfIt) {
  // Both counts at b = 32: whether a step of b = 16 takes half as long is open.
  ScalingSeries s = make_series("s", {{1, 68, 1, 32}, {2, 132, 1, 32}}, 8);
  s.scaling = Scaling::kMixed;
  const auto p = predict_rate(s, {4, 0, 1, 16});
  expect_sane(p);
  EXPECT_LE(p.low, 132);
  EXPECT_GE(p.high, 0.98 * 264);
}

TEST(ScalingPrediction, WholeRunsKeepWhatHappensOnce) {
  // Total time 100 + 400 / n s: a fifth is not shared out.
  ScalingSeries s = make_series("s", {{1, 1 / 500.0, 1}, {2, 1 / 300.0, 1}, {4, 1 / 200.0, 1}}, 8);
  s.whole_time = true;
  const auto p = predict_rate(s, {8, 0, 1});
  expect_sane(p);
  EXPECT_NEAR(1 / p.rate, 150, 8);
}

TEST(ScalingPrediction, FixedGlobalBatchIsPredictedThroughItsOverhead) {
  // Epoch times of a data-parallel sweep on 1, 2 and (held out) 4 devices, global batch fixed.
  const double measured[4][3] = {{38, 67, 121}, {16, 18, 30}, {13, 9, 11}, {13, 10, 11}};
  int covered = 0;
  for (const auto& [one, two, four] : measured) {
    ScalingSeries s = make_series("e", {{1, 1 / one, 0}, {2, 1 / two, 0}}, 4);
    s.scaling = Scaling::kStrong;
    const auto p = predict_rate(s, {4, 0, 0});
    expect_sane(p);
    EXPECT_NEAR(std::log(1 / p.rate / four), 0, std::log(1.8));
    covered += 1 / four >= p.low && 1 / four <= p.high;
  }
  EXPECT_EQ(covered, 4);
}

TEST(ScalingPrediction, NeverReturnsNonsense) {
  Rng rng(7);
  for (int round = 0; round < 4000; ++round) {
    std::vector<ScalingPoint> points;
    const auto count = 1 + rng.below(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const double workers = 1 + static_cast<double>(rng.below(round % 2 == 0 ? 9 : 2000));
      double rate = std::exp(rng.normal() * (round % 5 == 0 ? 60 : 1));
      if (rng.below(20) == 0) rate = 0;
      if (rng.below(40) == 0) rate = -rate;
      points.push_back({workers, rate, static_cast<int>(rng.below(4))});
    }
    ScalingSeries s = make_series("fuzz", points, static_cast<int>(rng.below(9)));
    if (s.points.empty()) continue;
    s.scaling = round % 7 == 0 ? Scaling::kStrong : Scaling::kWeak;
    s.whole_time = round % 11 == 0;
    const double target = round % 3 == 0 ? 1e9 : 1 + static_cast<double>(rng.below(5000));
    const auto p = predict_rate(s, {target, 0, static_cast<int>(rng.below(6))});
    expect_sane(p);
    double best = 0;
    for (const ScalingPoint& point : s.points) best = std::max(best, point.rate / point.workers);
    if (target > s.points.front().workers) {
      EXPECT_LE(p.rate, best * target * (1 + 1e-9));
    }
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(ScalingPrediction, ALongSeriesShowsItselfWhichFormDescribesIt) {
  // Time per worker 1 + 0.002 n: Amdahl's law, of which series of this place usually know little.
  std::vector<ScalingPoint> measured;
  for (double n = 8; n <= 512; n *= 2) measured.push_back({n, n / (1 + 0.002 * n), 0});
  const auto p = predict_rate(make_series("s", measured, 4), {1024, 0, 0});
  EXPECT_NEAR(p.rate, 1024 / (1 + 0.002 * 1024), 0.1 * p.rate);
  const bool right = p.shares.front().form == Form::kSerial ||
                     p.shares.front().form == Form::kAmdahl ||
                     p.shares.front().form == Form::kErnest;
  EXPECT_TRUE(right) << form_name(p.shares.front().form);
}

ScalingSeries runs_to_a_target() {
  // A training benchmark that ends at an accuracy: with 7 times the global batch on 8 times as many
  // workers it needs more epochs.
  ScalingSeries s =
      make_series("s", {{8, 1 / 20.0, 1, 56}, {64, 1 / 3.04, 8, 48}, {1024, 1 / 0.56, 128, 3}}, 8);
  s.scaling = Scaling::kMixed;
  s.whole_time = true;
  return s;
}

TEST(ScalingPrediction, RunsToATargetAreNotScaledByTheirBatches) {
  ScalingSeries s = runs_to_a_target();
  const double actual = s.points.back().rate;
  s.points.pop_back();
  const auto p = predict_rate(s, {1024, 0, 128, 3});
  expect_sane(p);
  // The batch of each worker falls to a sixteenth, which says nothing about the epochs.
  EXPECT_NEAR(std::log(p.rate / actual), 0, std::log(1.5));
  EXPECT_LE(p.low, actual);
  EXPECT_GE(p.high, actual);
  // Runs of as many epochs are as much work on any number of workers: t = a + c b per step.
  s.same_work = true;
  EXPECT_NE(predict_rate(s, {1024, 0, 128, 3}).rate, p.rate);
}

TEST(ScalingPrediction, WhatOneCountLosesDependsOnItsKind) {
  const auto rate_of_twice = [](double workers, Scaling scaling) {
    ScalingSeries s = make_series("s", {{workers, workers, 1}}, 64);
    s.scaling = scaling;
    return predict_rate(s, {2 * workers, 0, 1}).rate / (2 * workers);
  };
  // Eight workers exchange gradients already; a fixed batch leaves each worker less to do.
  EXPECT_GT(rate_of_twice(8, Scaling::kWeak), rate_of_twice(1, Scaling::kWeak));
  EXPECT_LT(rate_of_twice(8, Scaling::kStrong), rate_of_twice(1, Scaling::kWeak));
}

}  // namespace
}  // namespace lockstep::predict
